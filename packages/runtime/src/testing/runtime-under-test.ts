import type { LoraConfig } from '@agentlightning/core/training-runtime';

/** What the suite tells a runtime that it starts. */
export interface StartRuntimeOptions {
  /** Where checkpoints go. The suite starts a second runtime on the directory of a killed one. */
  readonly directory: string;
  /** The key that clients must send. */
  readonly apiKey: string;
  /**
   * How long it should keep the results of finished operations, in milliseconds. A runtime that cannot be told ignores
   * it, and is not tested for it: its capabilities say so. @default as it likes
   */
  readonly resultTtlMs?: number;
  /** After how long of silence a session should lapse, in milliseconds; as with `resultTtlMs`. @default as it likes */
  readonly sessionTtlMs?: number;
  /**
   * How long it should keep models whose session has ended, in milliseconds; as with `resultTtlMs`.
   * @default as it likes
   */
  readonly abandonedModelTtlMs?: number;
}

/** What of a runtime's limits the suite may ask for. */
export type LimitWishes = Omit<StartRuntimeOptions, 'directory' | 'apiKey'>;

/** A runtime that the suite has started. */
export interface RuntimeUnderTest {
  /** `host:port` of its gRPC server on this machine. */
  readonly address: string;
  /** Ends it as `kill -9` would, without any goodbye; resolves when it is gone. */
  kill(): Promise<void>;
  /** Ends it in good order; resolves when it is gone. */
  stop(): Promise<void>;
}

/** A runtime that is to pass the suite. */
export interface RuntimeConformanceOptions {
  /** Name of the runtime in the test report. */
  readonly name: string;
  /** Starts it. It must be a process of its own, since it gets killed. */
  readonly start: (options: StartRuntimeOptions) => Promise<RuntimeUnderTest>;
  /** How long one test may take, in milliseconds; raise it for models that are slow to make. @default 30000 */
  readonly testTimeoutMs?: number;
  /** Which of the runtime's base models the suite trains. @default the first of its capabilities */
  readonly baseModel?: string;
  /**
   * How far two ways to the same log-probability may be apart, in nats: the sampler's and the trainer's, or one batch
   * and its two halves. Raise it for weights in bfloat16. @default 1e-4
   */
  readonly logprobTolerance?: number;
  /** How far a loss may be from its formula. Raise it for weights in bfloat16. @default 1e-3 */
  readonly lossTolerance?: number;
  /**
   * Whether the same operations give the same bits, in this process and in the next. True for one thread of a processor.
   * When false, they must be within `logprobTolerance`. @default true
   */
  readonly isDeterministic?: boolean;
  /** Whether another seed makes a model with other weights. False for a base that is loaded whole. @default true */
  readonly isSeeded?: boolean;
  /** What the suite asks the model to complete; for templates that cannot do with anything. @default 'cab' */
  readonly prompt?: string;
  /** The LoRA that the suite trains where the runtime has the feature `lora`. @default rank 2 */
  readonly lora?: LoraConfig;
  /**
   * Size of a batch that is streamed whole, in bytes: give 1024 ** 3 to see that a gigabyte passes. It takes a gigabyte
   * of memory here and in the runtime, and seconds; a runtime whose limit is lower is asked for its limit. @default 5 MiB
   */
  readonly largeBatchBytes?: number;
}
