"""A worker or parameter server of parameter_server.py. TF_CONFIG tells its task."""

import argparse
import signal

import tensorflow as tf

import tf_rnn_ops  # noqa: F401  A worker runs the ops of the model.


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=int, default=240, help="seconds after which to give up")
    signal.alarm(parser.parse_args().timeout)
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    server = tf.distribute.Server(
        resolver.cluster_spec(),
        job_name=resolver.task_type,
        task_index=resolver.task_id,
        protocol="grpc",
    )
    server.join()


if __name__ == "__main__":
    main()
