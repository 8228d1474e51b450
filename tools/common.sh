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

# The requirement for pip of the TensorFlow that the sources fit.
tensorflow_requirement() {
  sed -n 's/^TENSORFLOW = "\(.*\)"$/tensorflow-cpu~=\1.0/p' tf_rnn_ops/_versions.py
}

# Whether configure.sh has run, and the TensorFlow that it found is still there.
is_configured() {
  local include
  include=$(sed -n 's/^common --repo_env=TF_INCLUDE_DIR="\(.*\)"$/\1/p' .tf_configure.bazelrc 2>/dev/null)
  [ -n "$include" ] && [ -d "$include" ]
}
