/** What a runtime server accepts and for how long it remembers. */
export interface RuntimeLimits {
  /** Largest serialised batch, in bytes. @default 268435456 */
  readonly maxBatchBytes: number;
  /** Most sequences in a batch. @default 65536 */
  readonly maxBatchData: number;
  /** Most bytes of batches that wait or run at a time. The batch that is next in line is always let in. @default 536870912 */
  readonly maxInflightBytes: number;
  /** How far ahead of the expected sequence number an operation may arrive. @default 64 */
  readonly reorderWindow: number;
  /** How often clients are asked to send a heartbeat, in milliseconds. @default 10000 */
  readonly heartbeatIntervalMs: number;
  /** After how long without a sign of life a session ends, in milliseconds. @default 300000 */
  readonly sessionTtlMs: number;
  /**
   * For how long a model stays in memory whose session has lapsed or was closed, in milliseconds. Then it is unloaded;
   * its checkpoints stay. 0: as long as the server. @default 3600000
   */
  readonly abandonedModelTtlMs: number;
  /** How long the result of a finished operation is kept, in milliseconds. @default 3600000 */
  readonly resultTtlMs: number;
}

/** What {@link RuntimeLimits} are when nothing is said. */
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

/** Largest gRPC message either side accepts, in bytes. */
export const maxMessageBytes: number = 16 * 1024 * 1024;

/** Size of the pieces a payload is cut into, in bytes. */
export const chunkBytes: number = 1024 * 1024;

/** Largest client state of a checkpoint, in bytes. */
export const maxClientStateBytes: number = 4 * 1024 * 1024;
