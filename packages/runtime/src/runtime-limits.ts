/** Limits and retention times of a runtime server. */
export interface RuntimeLimits {
  /** Largest serialised batch, in bytes. @default 268435456 */
  readonly maxBatchBytes: number;
  /** Maximum number of sequences in a batch. @default 65536 */
  readonly maxBatchData: number;
  /** Maximum bytes of batches in flight. The next batch in sequence is always admitted. @default 536870912 */
  readonly maxInflightBytes: number;
  /** Maximum distance of an operation from the expected sequence number. @default 64 */
  readonly reorderWindow: number;
  /** Interval of client heartbeats, in milliseconds. @default 10000 */
  readonly heartbeatIntervalMs: number;
  /** Idle time after which a session expires, in milliseconds. @default 300000 */
  readonly sessionTtlMs: number;
  /**
   * Retention of a model without a session in memory, in milliseconds. Then it is unloaded; its checkpoints stay. 0:
   * unlimited. @default 3600000
   */
  readonly abandonedModelTtlMs: number;
  /** Retention of the result of a finished operation, in milliseconds. @default 3600000 */
  readonly resultTtlMs: number;
}

/** The default {@link RuntimeLimits}. */
export const defaultRuntimeLimits: RuntimeLimits = {
  maxBatchBytes: 256 * 1024 * 1024,
  maxBatchData: 65_536,
  maxInflightBytes: 512 * 1024 * 1024,
  reorderWindow: 64,
  heartbeatIntervalMs: 10_000,
  sessionTtlMs: 300_000,
  abandonedModelTtlMs: 3_600_000,
  resultTtlMs: 3_600_000,
};

/** Largest gRPC message on either side, in bytes. */
export const maxMessageBytes: number = 16 * 1024 * 1024;

/** Options of HTTP/2 sessions: flow control already bounds the memory of a session; Node's limit would refuse calls. */
export const http2SessionOptions: { readonly maxSessionMemory: number } = { maxSessionMemory: Number.MAX_SAFE_INTEGER };

/** Size of the chunks of a payload, in bytes. */
export const chunkBytes: number = 1024 * 1024;

/** Largest client state of a checkpoint, in bytes. */
export const maxClientStateBytes: number = 4 * 1024 * 1024;
