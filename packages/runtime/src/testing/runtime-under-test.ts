import type { LoraConfig } from '@agentlightning/core/training-runtime';

/** Options of the suite for starting a runtime. */
export interface StartRuntimeOptions {
  /** Folder of checkpoints. The suite starts a second runtime on the directory of a killed one. */
  readonly directory: string;
  /** The key that clients must send. */
  readonly apiKey: string;
  /**
   * Retention of the results of finished operations, in milliseconds. A runtime without this setting ignores it and is
   * not tested for it: its capabilities report the value. @default the runtime's
   */
  readonly resultTtlMs?: number;
  /** Idle time after which a session should expire, in milliseconds; as with `resultTtlMs`. @default the runtime's */
  readonly sessionTtlMs?: number;
  /** Retention of models whose session has ended, in milliseconds; as with `resultTtlMs`. @default the runtime's */
  readonly abandonedModelTtlMs?: number;
}

/** The limits that the suite may set. */
export type LimitWishes = Omit<StartRuntimeOptions, 'directory' | 'apiKey'>;

/** A runtime that the suite has started. */
export interface RuntimeUnderTest {
  /** `host:port` of its gRPC server on this machine. */
  readonly address: string;
  /** Ends it like `kill -9`; resolves after its end. */
  kill(): Promise<void>;
  /** Stops it gracefully; resolves after its end. */
  stop(): Promise<void>;
}

/** A runtime to test. */
export interface RuntimeConformanceOptions {
  /** Name of the runtime in the test report. */
  readonly name: string;
  /** Starts it. It must be a separate process, since it gets killed. */
  readonly start: (options: StartRuntimeOptions) => Promise<RuntimeUnderTest>;
  /** Timeout of one test, in milliseconds; raise it for models that are slow to create. @default 30000 */
  readonly testTimeoutMs?: number;
  /** The base model that the suite trains. @default the first of the capabilities */
  readonly baseModel?: string;
  /**
   * Maximum difference of the same log-probability computed in two ways, in nats: the sampler's and the trainer's, or one
   * batch and its two halves. Raise it for weights in bfloat16. @default 1e-4
   */
  readonly logprobTolerance?: number;
  /** Tolerance of a loss relative to its formula. Raise it for weights in bfloat16. @default 1e-3 */
  readonly lossTolerance?: number;
  /**
   * Whether the same operations give the same bits, in this process and in the next. True for one thread of a processor.
   * When false, they must be within `logprobTolerance`. @default true
   */
  readonly isDeterministic?: boolean;
  /** Whether another seed makes a model with other weights. False for a base that is loaded whole. @default true */
  readonly isSeeded?: boolean;
  /** The prompt of the suite; for templates that cannot complete arbitrary text. @default 'cab' */
  readonly prompt?: string;
  /** The LoRA that the suite trains where the runtime has the feature `lora`, or `lora_only`. @default rank 2 */
  readonly lora?: LoraConfig;
  /**
   * Size of a batch that is streamed whole, in bytes: give 1024 ** 3 to see that a gigabyte passes. It takes a gigabyte
   * of memory here and in the runtime, and seconds; a runtime whose limit is lower is asked for its limit. @default 5 MiB
   */
  readonly largeBatchBytes?: number;
}
