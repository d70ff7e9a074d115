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
  | 'ENVIRONMENT_FAILED'
  | 'INVALID_REWARD'
  | 'OUTSIDE_ROLLOUT'
  | 'RUNTIME_UNAVAILABLE'
  | 'RUNTIME_REJECTED'
  | 'SEQUENCE_REUSED'
  | 'SEQUENCE_GAP'
  | 'PRECONDITION_FAILED'
  | 'RESOURCE_EXHAUSTED'
  | 'BUDGET_REACHED'
  | 'NON_FINITE'
  | 'CANCELLED'
  | 'NOTHING_TO_TRAIN'
  | 'TOKEN_MISALIGNMENT'
  | 'WEIGHT_MISMATCH'
  | 'UNSUPPORTED_FRAMEWORK'
  | 'INTERNAL';

/** The meaning of every error code, in one sentence. `docs/errors.md` is generated from it. */
export const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  VALIDATION: 'An external value is not valid.',
  CONFIG: 'A configuration file, key or command-line flag is wrong.',
  TASK_FILE: 'A line of a task file cannot be used.',
  NOT_FOUND: 'The rollout, attempt, resource, run, model or checkpoint does not exist.',
  CONFLICT: 'The write conflicts with stored data, such as a reused idempotency key with another body.',
  ILLEGAL_TRANSITION: 'A status change that the state machine does not allow.',
  UNAUTHENTICATED: 'The request has no key, or a wrong one.',
  PERMISSION_DENIED: 'The key does not permit the request.',
  PAYLOAD_TOO_LARGE: 'A request body or message is larger than the server accepts.',
  QUOTA_EXCEEDED: 'An attempt recorded more than its quota allows. Nothing of the request was recorded.',
  UNREACHABLE: 'A server cannot be reached: store, gateway, runtime or model endpoint.',
  UPSTREAM_FAILED: 'A model endpoint behind the gateway cannot be reached, or responds with an error.',
  TIMEOUT: 'An operation exceeded its time limit.',
  PORT_IN_USE: 'Another process listens on the port.',
  STORE_FULL: 'The disk that holds the store is full, or the store has reached its limit. No write is incomplete.',
  STORE_SCHEMA: 'The store was written by a newer version, or is not a store.',
  AGENT_FAILED: 'The agent threw an error or returned something that is not a reward.',
  AGENT_CRASHED: 'The process that runs an agent exited, was killed, ran out of memory or had an uncaught exception.',
  ENVIRONMENT_FAILED: 'An environment did not start, crashed, or did not respond.',
  INVALID_REWARD: 'A reward is missing, is not a finite number, or is larger than 1e15.',
  OUTSIDE_ROLLOUT: 'A function that needs a running rollout was called outside of one.',
  RUNTIME_UNAVAILABLE: 'The training runtime cannot be reached or has exited.',
  RUNTIME_REJECTED: 'The training runtime rejected the request as invalid.',
  SEQUENCE_REUSED: 'A sequence number was sent again with a different payload.',
  SEQUENCE_GAP: 'An operation was sent beyond the window after the next expected sequence number.',
  PRECONDITION_FAILED: 'A precondition of the operation does not hold, such as a preceding batch that failed.',
  RESOURCE_EXHAUSTED: 'A queue, memory or token budget is exhausted.',
  BUDGET_REACHED: 'A run has used its budget, and is paused.',
  NON_FINITE: 'A loss or gradient became infinite or not a number; the step was not taken.',
  CANCELLED: 'The work was cancelled before it ended.',
  NOTHING_TO_TRAIN: 'No rollout of the step has a trainable model call.',
  TOKEN_MISALIGNMENT:
    'The probabilities of the sampled tokens differ between trainer and sampler: the tokens are misaligned.',
  WEIGHT_MISMATCH: 'After a publication, the endpoint samples from other weights than the trained ones.',
  UNSUPPORTED_FRAMEWORK: 'An adapter does not support the given framework or its version.',
  INTERNAL: 'Internal error.',
};

/** What the reader should do, in one sentence, unless the error says more. */
export const defaultRemedies: Readonly<Record<ErrorCode, string>> = {
  VALIDATION: 'Correct the field that the message names.',
  CONFIG: 'Correct the key or flag that the message names.',
  TASK_FILE: 'Correct the line that the message names; a task file has one JSON object a line.',
  NOT_FOUND: 'Check the id; `agl runs` and `agl rollouts` list the content of a store.',
  CONFLICT: 'Use a new idempotency key, or send the same body again.',
  ILLEGAL_TRANSITION:
    'Read the current status first; a finished rollout stays finished unless it is requeued explicitly.',
  UNAUTHENTICATED: 'Send the key as `Authorization: Bearer <key>`.',
  PERMISSION_DENIED: 'Use a key with a role that the message names.',
  PAYLOAD_TOO_LARGE: 'Send smaller requests, or raise the limit that the message names.',
  QUOTA_EXCEEDED: 'Record less, or raise the quota that the message names.',
  UNREACHABLE: 'Check that the server runs at the address the message names.',
  UPSTREAM_FAILED:
    'Check that the model endpoint runs at the address the message names, and accepts the configured key.',
  TIMEOUT: 'Raise the timeout that the message names, or find the operation that hangs.',
  PORT_IN_USE: 'Choose another port, or 0 for any free one.',
  STORE_FULL: 'Free disk space, delete old runs or raise the limit, then resume: acknowledged writes are kept.',
  STORE_SCHEMA: 'Use the version of the package that wrote it, or another file.',
  AGENT_FAILED: 'Read the cause; `agl show <rollout>` shows the trace up to the failure.',
  AGENT_CRASHED:
    'Read the last output of the process in the message; `agl show <rollout>` shows the trace up to the failure.',
  ENVIRONMENT_FAILED: 'Read the cause in the message; the rollout has no reward.',
  INVALID_REWARD: 'Return a finite number between -1e15 and 1e15 from the agent, or call emitReward with one.',
  OUTSIDE_ROLLOUT: 'Call it from the agent, or open a context with `withRollout`.',
  RUNTIME_UNAVAILABLE: 'Start it again, then `agl train --resume <run>`: no finished step is lost.',
  RUNTIME_REJECTED: 'Correct the field that the message names.',
  SEQUENCE_REUSED: 'This is a bug in the client: every operation has a new sequence number.',
  SEQUENCE_GAP: 'Read the next sequence number from the model and continue from there.',
  PRECONDITION_FAILED: 'Read the message; resume from the last checkpoint if the model is marked corrupted.',
  RESOURCE_EXHAUSTED: 'Send smaller batches, or retry after the delay in the response.',
  BUDGET_REACHED: 'Raise the limit of `limits.budget` that the message names, and resume the run.',
  NON_FINITE: 'Lower the learning rate; the weights are those before the step.',
  CANCELLED: 'None if the cancellation was intended; otherwise check the logs for its cause.',
  NOTHING_TO_TRAIN: 'Check that the agent calls the model through the gateway: `agl show <rollout>`.',
  TOKEN_MISALIGNMENT:
    'Train on the token ids that the engine returned, with the positions and temperature of the sampling.',
  WEIGHT_MISMATCH:
    'Restart the runtime and resume from the last checkpoint; the runtime logs the messages of its sampler.',
  UNSUPPORTED_FRAMEWORK: 'Install a version that the message names, or pass the module that the message requires.',
  INTERNAL: 'Report it with the message and the stack trace.',
};
