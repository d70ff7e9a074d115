import type { AlgorithmType } from '@agentlightning/algorithms';

/** The algorithms that a server can use by name. */
export type ServerAlgorithm = Exclude<AlgorithmType, 'custom' | 'distillation'>;

/** The settings of `agl server`. `setting-table.ts` has their defaults, flags and environment variables. */
export interface ServerSettings extends RunDefaults {
  /** The address to bind to. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** The folder of the server's data: store, uploaded data, checkpoints, logs of runs, and its key. */
  readonly data: string;
  /** The URL of the store's database; null for a file in `data`. */
  readonly store: string | null;
  /** `host:port` of a running training runtime, or the URL of a Tinker server; null to start one on this machine. */
  readonly runtime: string | null;
  /** The Python interpreter of the GPU runtime to start; null for `python3` where a GPU runtime is needed. */
  readonly runtimePython: string | null;
  /** Further command line arguments of the runtime to start, for GPUs or over a Tinker server, as in a shell; null for none. */
  readonly runtimeArguments: string | null;
  /** The base model; null for the first one of the runtime. */
  readonly model: string | null;
  /** The rank of the LoRA adapters to train; null to train all weights, or for rank 32 on a Tinker server. */
  readonly loraRank: number | null;
  /** The number of GPUs that a model is trained on; null for all of the runtime, 0 for the CPU. */
  readonly gpus: number | null;
  /** The number of runs that are trained at a time, over all projects. */
  readonly maxConcurrentRuns: number;
  /** Grace period of calls and the current operation when the server is stopped, such as `30s`. */
  readonly drain: string;
}

/** Values of runs that a client does not set. Null for the default of the training configuration. */
export interface RunDefaults {
  readonly algorithm: ServerAlgorithm;
  readonly learningRate: number | null;
  readonly steps: number | null;
  readonly tasksPerStep: number | null;
  readonly maxTokens: number | null;
}
