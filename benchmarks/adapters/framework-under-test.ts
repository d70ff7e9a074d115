/** A framework with its measured adapter. */
export interface FrameworkUnderTest {
  /** Runs the framework once, as documented, with one model call. Returns the model's completion. */
  readonly call: () => Promise<string>;
  /** Activates the adapter. Returns its undo function. */
  readonly instrument: () => () => void;
  /**
   * Registers an empty listener instead of the adapter, to separate the cost of the framework's notifications from the
   * adapter's. Returns a function that removes it.
   *
   * @default none: the framework has no listeners, or always emits events
   */
  readonly listen?: () => () => void;
  /**
   * Activates the framework's own telemetry instead of the adapter, with discarded spans, for comparison. Returns a function
   * that deactivates it.
   *
   * @default none: the framework has no telemetry, or requires its vendor's service
   */
  readonly ownTelemetry?: () => () => void;
}

/** Loads a framework, after the model is installed. */
export type OpenFramework = () => Promise<FrameworkUnderTest>;
