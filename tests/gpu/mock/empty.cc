// A library that TensorFlow must open before it registers a GPU. The tests call none of its
// functions.
