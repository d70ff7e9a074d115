import type { AlgorithmOptions } from '@agentlightning/algorithms';

/** The settings of `agl server`. */
export interface ServerSettings {
  /** The address to bind to. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** The folder of the server's data: store, uploaded data, checkpoints, logs of runs, and its key. */
  readonly data: string;
  /** The URL of the store's database; null for a file in `data`. */
  readonly store: string | null;
  /** `host:port` of a running training runtime; null to start one. */
  readonly runtime: string | null;
  /** The base model; null for the first one of the runtime. */
  readonly model: string | null;
  /** The number of GPUs that the runtime must have; null for any. */
  readonly gpus: number | null;
  /** Values of runs that a client does not set. */
  readonly defaults: RunDefaults;
}

/** Values of runs that a client does not set. */
export interface RunDefaults {
  readonly algorithm: AlgorithmOptions['type'];
  readonly learningRate?: number;
  readonly steps?: number;
  readonly tasksPerStep?: number;
  readonly maxTokens?: number;
}

/** The keys of a server, from the environment. */
export interface ServerSecrets {
  /** The key of the server; null for the one in the data directory. */
  readonly serverKey: string | null;
  /** Secrets that sign the tokens of attempts; null for the one in the data directory. */
  readonly tokenSecret: string | null;
  /** The keys of a configured runtime and of its model endpoint. */
  readonly runtimeKey: string | null;
  readonly inferenceKey: string | null;
}
