package pagecache

// mostLeft is the share of the bytes that may stay in memory (PGC-1).
const mostLeft = 0.01
