// A library that TensorFlow must be able to open before it registers a GPU, and of which the tests
// call nothing.
