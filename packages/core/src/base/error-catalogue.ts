/** Meaning and remedy of an error code. */
export interface ErrorCatalogueEntry {
  /** The meaning, in one sentence. */
  readonly meaning: string;
  /** What the reader should do, in one sentence. */
  readonly remedy: string;
}

/** The code of an {@link AgentLightningError}: its kind of failure. */
export type ErrorCode =
  | 'VALIDATION'
  | 'CONFIG'
  | 'TASK_FILE'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'ILLEGAL_TRANSITION'
  | 'UNAUTHENTICATED'
  | 'PERMISSION_DENIED'
  | 'PAYLOAD_TOO_LARGE'
  | 'QUOTA_EXCEEDED'
  | 'UNREACHABLE'
  | 'UPSTREAM_FAILED'
  | 'TIMEOUT'
  | 'PORT_IN_USE'
  | 'STORE_FULL'
  | 'STORE_SCHEMA'
  | 'AGENT_FAILED'
  | 'AGENT_CRASHED'
  | 'INVALID_REWARD'
  | 'OUTSIDE_ROLLOUT'
  | 'RUNTIME_UNAVAILABLE'
  | 'RUNTIME_REJECTED'
  | 'SEQUENCE_REUSED'
  | 'SEQUENCE_GAP'
  | 'PRECONDITION_FAILED'
  | 'RESOURCE_EXHAUSTED'
  | 'NON_FINITE'
  | 'CANCELLED'
  | 'NOTHING_TO_TRAIN'
  | 'TOKEN_MISALIGNMENT'
  | 'WEIGHT_MISMATCH'
  | 'UNSUPPORTED_FRAMEWORK'
  | 'INTERNAL';

/** Every error code of the project, with its meaning and default remedy. `docs/errors.md` is generated from it. */
export const errorCatalogue: Readonly<Record<ErrorCode, ErrorCatalogueEntry>> = {
  VALIDATION: {
    meaning: 'An external value is not valid.',
    remedy: 'Correct the field that the message names.',
  },
  CONFIG: {
    meaning: 'A configuration file, key or command-line flag is wrong.',
    remedy: 'Correct the key or flag that the message names.',
  },
  TASK_FILE: {
    meaning: 'A line of a task file cannot be used.',
    remedy: 'Correct the line that the message names; a task file has one JSON object a line.',
  },
  NOT_FOUND: {
    meaning: 'The rollout, attempt, resource, run, model or checkpoint does not exist.',
    remedy: 'Check the id; `agl runs` and `agl rollouts` list the content of a store.',
  },
  CONFLICT: {
    meaning: 'The write conflicts with stored data, such as a reused idempotency key with another body.',
    remedy: 'Use a new idempotency key, or send the same body again.',
  },
  ILLEGAL_TRANSITION: {
    meaning: 'A status change that the state machine does not allow.',
    remedy: 'Read the current status first; a finished rollout stays finished unless it is requeued explicitly.',
  },
  UNAUTHENTICATED: {
    meaning: 'The request has no key, or a wrong one.',
    remedy: 'Send the key as `Authorization: Bearer <key>`.',
  },
  PERMISSION_DENIED: {
    meaning: 'The key does not permit the request.',
    remedy: 'Use a key with a role that the message names.',
  },
  PAYLOAD_TOO_LARGE: {
    meaning: 'A request body or message is larger than the server accepts.',
    remedy: 'Send smaller requests, or raise the limit that the message names.',
  },
  QUOTA_EXCEEDED: {
    meaning: 'An attempt recorded more than its quota allows. Nothing of the request was recorded.',
    remedy: 'Record less, or raise the quota that the message names.',
  },
  UNREACHABLE: {
    meaning: 'A server cannot be reached: store, gateway, runtime or model endpoint.',
    remedy: 'Check that the server runs at the address the message names.',
  },
  UPSTREAM_FAILED: {
    meaning: 'A model endpoint behind the gateway cannot be reached, or responds with an error.',
    remedy: 'Check that the model endpoint runs at the address the message names, and accepts the configured key.',
  },
  TIMEOUT: {
    meaning: 'An operation exceeded its time limit.',
    remedy: 'Raise the timeout that the message names, or find the operation that hangs.',
  },
  PORT_IN_USE: {
    meaning: 'Another process listens on the port.',
    remedy: 'Choose another port, or 0 for any free one.',
  },
  STORE_FULL: {
    meaning: 'The disk that holds the store is full. No write is incomplete.',
    remedy: 'Free disk space, then resume: acknowledged writes are kept.',
  },
  STORE_SCHEMA: {
    meaning: 'The store was written by a newer version, or is not a store.',
    remedy: 'Use the version of the package that wrote it, or another file.',
  },
  AGENT_FAILED: {
    meaning: 'The agent threw an error or returned something that is not a reward.',
    remedy: 'Read the cause; `agl show <rollout>` shows the trace up to the failure.',
  },
  AGENT_CRASHED: {
    meaning: 'The process that runs an agent exited, was killed, ran out of memory or had an uncaught exception.',
    remedy:
      'Read the last output of the process in the message; `agl show <rollout>` shows the trace up to the failure.',
  },
  INVALID_REWARD: {
    meaning: 'A reward is missing, is not a finite number, or is larger than 1e15.',
    remedy: 'Return a finite number between -1e15 and 1e15 from the agent, or call emitReward with one.',
  },
  OUTSIDE_ROLLOUT: {
    meaning: 'A function that needs a running rollout was called outside of one.',
    remedy: 'Call it from the agent, or open a context with `withRollout`.',
  },
  RUNTIME_UNAVAILABLE: {
    meaning: 'The training runtime cannot be reached or has exited.',
    remedy: 'Start it again, then `agl train --resume <run>`: no finished step is lost.',
  },
  RUNTIME_REJECTED: {
    meaning: 'The training runtime rejected the request as invalid.',
    remedy: 'Correct the field that the message names.',
  },
  SEQUENCE_REUSED: {
    meaning: 'A sequence number was sent again with a different payload.',
    remedy: 'This is a bug in the client: every operation has a new sequence number.',
  },
  SEQUENCE_GAP: {
    meaning: 'An operation was sent beyond the window after the next expected sequence number.',
    remedy: 'Read the next sequence number from the model and continue from there.',
  },
  PRECONDITION_FAILED: {
    meaning: 'A precondition of the operation does not hold, such as a preceding batch that failed.',
    remedy: 'Read the message; resume from the last checkpoint if the model is marked corrupted.',
  },
  RESOURCE_EXHAUSTED: {
    meaning: 'A queue, memory or token budget is exhausted.',
    remedy: 'Send smaller batches, or retry after the delay in the response.',
  },
  NON_FINITE: {
    meaning: 'A loss or gradient became infinite or not a number; the step was not taken.',
    remedy: 'Lower the learning rate; the weights are those before the step.',
  },
  CANCELLED: {
    meaning: 'The work was cancelled before it ended.',
    remedy: 'None if the cancellation was intended; otherwise check the logs for its cause.',
  },
  NOTHING_TO_TRAIN: {
    meaning: 'No rollout of the step has a trainable model call.',
    remedy: 'Check that the agent calls the model through the gateway: `agl show <rollout>`.',
  },
  TOKEN_MISALIGNMENT: {
    meaning: 'The probabilities of the sampled tokens differ between trainer and sampler: the tokens are misaligned.',
    remedy: 'Train on the token ids that the engine returned, with the positions and temperature of the sampling.',
  },
  WEIGHT_MISMATCH: {
    meaning: 'After a publication, the endpoint samples from other weights than the trained ones.',
    remedy: 'Restart the runtime and resume from the last checkpoint; the runtime logs the messages of its sampler.',
  },
  UNSUPPORTED_FRAMEWORK: {
    meaning: 'An adapter does not support the given framework or its version.',
    remedy: 'Install a version that the message names, or pass the module that the message requires.',
  },
  INTERNAL: {
    meaning: 'Internal error.',
    remedy: 'Report it with the message and the stack trace.',
  },
};
