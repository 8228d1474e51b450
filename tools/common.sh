# Sourced by the scripts: messages, and the system packages they may install.

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# apt_install PACKAGE...: installs what is missing when root on a machine with apt-get.
# Returns 1, having done nothing, anywhere else.
apt_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  echo "installing with apt-get: $*"
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -q && apt-get install -q -y --no-install-recommends "$@"; } >&2 </dev/null
}

# The minor versions of TensorFlow that the sources fit, oldest first, one a line.
tensorflow_versions() {
  sed -n '/^TENSORFLOW = /s/[^"]*"\([^"]*\)"[^"]*/\1\n/gp' tf_rnn_ops/_versions.py | sed '/^$/d'
}

# The requirement for pip of the TensorFlow to develop with: the newest.
tensorflow_requirement() {
  echo "tensorflow-cpu~=$(tensorflow_versions | tail -n 1).0"
}

# configured KEY: what configure.sh found, such as TF_VERSION or python.
configured() {
  sed -n -e "s/^common --repo_env=$1=\"\(.*\)\"\$/\1/p" -e "s/^# $1=//p" .tf_configure.bazelrc 2>/dev/null
}

# Whether configure.sh has run, and the TensorFlow that it found is still there.
is_configured() {
  local include
  include=$(configured TF_INCLUDE_DIR)
  [ -n "$include" ] && [ -d "$include" ]
}
