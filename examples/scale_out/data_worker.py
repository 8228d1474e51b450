"""A worker of the tf.data service: python data_worker.py DISPATCHER"""

import argparse
import signal

import tensorflow as tf

import tf_rnn_ops  # noqa: F401  The worker runs the ops of the pipeline.


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dispatcher", help="its address, HOST:PORT")
    parser.add_argument("--timeout", type=int, default=240, help="seconds after which to give up")
    arguments = parser.parse_args()
    signal.alarm(arguments.timeout)
    config = tf.data.experimental.service.WorkerConfig(dispatcher_address=arguments.dispatcher)
    tf.data.experimental.service.WorkerServer(config).join()


if __name__ == "__main__":
    main()
