// Package loglevel lets the level of each room's log lines be read and changed while the node runs.
//
// # What it owns
//
// One level for the whole node ("root") and one for each room that has a logger of its own, with the names that the
// BROKER_LOGGER configs of Kafka's admin clients use: TRACE, DEBUG, INFO, WARN, ERROR, FATAL.
//
// # Data in and out
//
// In: any slog.Handler. Out: a slog.Handler that asks the levels first. A room's logger is made with
// logger.With(loglevel.Room, "wire"): that attribute names the room and is passed on.
//
// # Invariants
//
//	LVL-1  until a level is set, what is logged is what the handler underneath would log.
//	LVL-2  a level that is set counts even where the handler underneath would log less.
//	LVL-3  a room's own level wins over root's.
//
// # Concurrency
//
// Levels may be used from any goroutine. Asking for a level on the way of a log line takes no lock.
//
// # Format
//
// None.
package loglevel
