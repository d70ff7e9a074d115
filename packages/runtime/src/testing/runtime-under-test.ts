/** What the suite tells a runtime that it starts. */
export interface StartRuntimeOptions {
  /** Where checkpoints go. The suite starts a second runtime on the directory of a killed one. */
  readonly directory: string;
  /** The key that clients must send. */
  readonly apiKey: string;
}

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
  /** How long one test may take, in milliseconds. @default 30000 */
  readonly testTimeoutMs?: number;
}
