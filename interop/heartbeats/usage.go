package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process has taken.
type usage struct {
	cpu time.Duration
	rss int64 // bytes
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux that Go runs on.
const ticksPerSecond = 100

// Fields of /proc/PID/stat behind the command's name, counted from 0: utime, stime, and resident pages.
const (
	utimeField = 11
	stimeField = 12
	rssField   = 21
)

// usageOf reads /proc/PID/stat.
func usageOf(pid int) (usage, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, err
	}
	// The name may hold anything, but ends with the last parenthesis.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= rssField {
		return usage{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	n := func(at int) int64 {
		v, _ := strconv.ParseInt(fields[at], 10, 64) // the kernel writes numbers there
		return v
	}
	return usage{
		cpu: time.Duration(n(utimeField)+n(stimeField)) * time.Second / ticksPerSecond,
		rss: n(rssField) * int64(os.Getpagesize()),
	}, nil
}
