/**
 * Typed errors. None of them ever means "allowed": whoever catches one must not run the call.
 *
 * Each class has a stable `code` (a machine reads it, the text may change) and a message that says what to do next.
 */
import type { Decision } from "./decision.js";

/** Base of every error of this package. `code` is stable; each instance may narrow that of its class. */
export class CountersignError extends Error {
  /** That of the class. */
  static readonly code: string = "failed";
  readonly code: string;

  constructor(message: string, code?: string) {
    super(message);
    this.name = new.target.name;
    this.code = code ?? new.target.code;
  }
}

/** The enrolment file is missing, unreadable or incomplete. Run `countersign enroll WS/AGENT` again. */
export class EnrolmentError extends CountersignError {
  static override readonly code = "enrolment";
}

/** The request would be rejected (protocol, section 2); nothing was sent. `code` is the protocol's word. */
export class InvalidRequestError extends CountersignError {
  static override readonly code = "invalid_request";
}

/** The bus did not answer in time. The call must not run. */
export class BusUnreachableError extends CountersignError {
  static override readonly code: string = "bus_unreachable";
}

/** Nothing was stored, and nothing will be: there was nobody to take the message. */
export class NotSentError extends BusUnreachableError {}

/** The bus answered with an error (missing permission, full stream). The call must not run. */
export class BusRefusedError extends CountersignError {
  static override readonly code = "bus_refused";
}

/**
 * The bus speaks no TLS that can be trusted. Nothing was sent without it. Check `tls_ca`, `tls_cert` and `tls_key` in
 * agent.json, and the host in `nats_url`.
 */
export class BusTlsError extends CountersignError {
  static override readonly code = "bus_tls";
}

/** The bus refused the agent's key, JWT or password. Enrol the agent again. */
export class BusLoginError extends CountersignError {
  static override readonly code = "bus_login_refused";
}

/** The gate was closed while, or before, the request was waiting. */
export class GateClosedError extends CountersignError {
  static override readonly code = "gate_closed";
}

/**
 * This id has a request already: in this gate (`already_waiting`), or on the bus, from an earlier life of this agent or
 * another instance (`already_asked`). Its answer is not this call's. Ask with a new id.
 */
export class AlreadyAskedError extends CountersignError {
  static override readonly code = "already_asked";
}

/**
 * The folder of pending asks cannot be written or read; nothing was asked and nothing may run. Check its disk and its
 * permissions.
 */
export class JournalError extends CountersignError {
  static override readonly code = "journal";
}

/** More requests wait than the gate's limit allows. Ask again when some were decided. */
export class TooManyWaitingError extends CountersignError {
  static override readonly code = "too_many_waiting";
}

/** The stored decision does not verify (protocol, section 5). `code` names the first check that failed. */
export class VoidDecisionError extends CountersignError {
  constructor(code: string, why: string) {
    super(`refused: ${why}`, code);
  }
}

/**
 * A guarded function was not run. `verdict` says denied, skipped, expired or withdrawn; the message is what a model
 * reads. `decision` is the whole answer; null where the call could not be asked about any more.
 */
export class NotAllowedError extends CountersignError {
  constructor(
    message: string,
    readonly verdict: string,
    readonly decision: Decision | null = null,
  ) {
    super(message, verdict);
  }
}

/** What would run has other arguments than were approved, or cannot take them. Nothing was run. */
export class ArgumentsChangedError extends CountersignError {
  static override readonly code = "digest_differs";
}
