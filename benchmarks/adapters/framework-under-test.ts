/** A framework whose adapter is measured. */
export interface FrameworkUnderTest {
  /** Runs the framework once, the way its documentation says, with one model call in it. Gives the model's answer. */
  readonly call: () => Promise<string>;
  /** The adapter's one line, in a rollout with an endpoint or without one. Gives its undo. */
  readonly instrument: () => () => void;
  /**
   * Registers an empty listener with the framework where the adapter listens, so that the cost of the framework's
   * own telling is known apart from ours. Gives what ends it.
   *
   * @default the framework has no listeners, or always emits
   */
  readonly listen?: () => () => void;
  /**
   * Puts the framework's own telemetry in the adapter's place, its spans going nowhere: what others pay for a trace.
   * Gives what ends it.
   *
   * @default it has none, or one that cannot be had without its maker's service
   */
  readonly ownTelemetry?: () => () => void;
}

/** Loads a framework, after the model is in place. */
export type OpenFramework = () => Promise<FrameworkUnderTest>;
