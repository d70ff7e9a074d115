import { tracingChannel } from 'node:diagnostics_channel';

/** One activity of a process of this system, for its operators: a training step, an attempt. Not a step of an agent. */
export interface Activity {
  /** Low cardinality: `train.step`. */
  readonly name: string;
  /** Ids and outcome. More can be set while the activity runs. */
  readonly attributes: Record<string, string | number | boolean>;
}

/**
 * Name of the tracing channel of `node:diagnostics_channel` that activities are published on; see
 * docs/decisions/0060-operational-telemetry-over-diagnostics-channels.md.
 */
export const activityChannel = 'agentlightning.activity';

const channel = tracingChannel<unknown, Activity>(activityChannel);

/**
 * Runs a function as an activity that operational telemetry can observe: its duration, error and nested activities.
 * Without an observer it only calls the function.
 *
 * @param name - of low cardinality
 * @param attributes - ids and other details
 */
export function traceActivity<TResult>(
  name: string,
  attributes: Readonly<Record<string, string | number | boolean>>,
  run: (activity: Activity) => Promise<TResult>,
): Promise<TResult> {
  const activity: Activity = { name, attributes: { ...attributes } };
  return channel.hasSubscribers ? channel.tracePromise(() => run(activity), activity) : run(activity);
}
