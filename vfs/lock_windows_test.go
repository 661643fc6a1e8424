package vfs

// lockHelper is of use where processes can share a lock file's descriptor kind with Java's: see lock_unix_test.go.
const lockHelper = "VFS_TEST_LOCK"

func holdLock() {}
