// The part of Python's stable ABI that python_module.cc uses, so that a build needs no headers of
// Python. The layouts are those of Python.h since 3.10; a test compares them with the headers of
// the Python that runs it.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using Py_ssize_t = intptr_t;
struct PyTypeObject;

struct PyObject {
  Py_ssize_t ob_refcnt;
  PyTypeObject* ob_type;
};

using PyCFunctionFast = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t count);

struct PyMethodDef {
  const char* ml_name;
  PyCFunctionFast ml_meth;
  int ml_flags;
  const char* ml_doc;
};
constexpr int METH_FASTCALL = 0x80;

struct PyModuleDef {
  PyObject ob_base;
  PyObject* (*m_init)();
  Py_ssize_t m_index;
  PyObject* m_copy;
  const char* m_name;
  const char* m_doc;
  Py_ssize_t m_size;
  PyMethodDef* m_methods;
  void* m_slots;
  void* m_traverse;
  void* m_clear;
  void* m_free;
};
constexpr int PYTHON_ABI_VERSION = 3;

struct Py_buffer {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};
constexpr int PyBUF_SIMPLE = 0, PyBUF_WRITABLE = 0x1, PyBUF_FORMAT = 0x4;
constexpr int PyBUF_C_CONTIGUOUS = 0x20 | 0x10 | 0x8;

extern PyObject* PyExc_MemoryError;
extern PyObject* PyExc_RuntimeError;
extern PyObject* PyExc_TypeError;
extern PyObject* PyExc_ValueError;

PyObject* PyModule_Create2(PyModuleDef* definition, int version);
void PyErr_SetString(PyObject* type, const char* text);
void PyErr_Clear();
PyObject* PyErr_Occurred();
int PyObject_GetBuffer(PyObject* object, Py_buffer* view, int flags);
void PyBuffer_Release(Py_buffer* view);
PyObject* PyCapsule_New(void* pointer, const char* name, void (*destructor)(PyObject*));
void* PyCapsule_GetPointer(PyObject* capsule, const char* name);
long long PyLong_AsLongLong(PyObject* number);
PyObject* PyLong_FromLongLong(long long number);
PyObject* PyBool_FromLong(long value);
PyObject* PyUnicode_FromString(const char* text);
PyObject* PyList_New(Py_ssize_t size);
int PyList_Append(PyObject* list, PyObject* item);
PyObject* Py_BuildValue(const char* format, ...);
void Py_DecRef(PyObject* object);
void* PyEval_SaveThread();
void PyEval_RestoreThread(void* state);

}  // extern "C"
