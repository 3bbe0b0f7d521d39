//! OTLP, the wire format of OpenTelemetry, read into the events of Countersign's
//! protocol and written from its decisions.
