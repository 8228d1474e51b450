// Made by tools/generate_ptx.py. The name has a checksum, so that a library of ops does not load
// next to the archive of another build.
#pragma once

#define RNN_OPS_PERSISTENT_ARCHIVE kPersistentArchive_54fcc7bf
