/** A Prometheus metric of a process. Labels have few values: never an id, except that of the current run. */
export interface OperationalMetric {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The processes that export it: the commands of `agl`. */
  readonly of: readonly ('gateway' | 'server' | 'store' | 'train' | 'runner')[];
  readonly labels: readonly string[];
  readonly title: string;
  /** Upper bounds of a histogram's buckets, in the unit of the metric. */
  readonly buckets?: readonly number[];
}

/** The metrics that processes export, beside `process_…` and `nodejs_…`. */
export const operationalMetrics = {
  storeRequests: {
    name: 'agl_store_request_duration_seconds',
    type: 'histogram',
    of: ['server', 'store'],
    labels: ['method', 'route', 'status'],
    title: 'Duration of requests, except long polls and event streams',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
  },
  storeWaits: {
    name: 'agl_store_wait_duration_seconds',
    type: 'histogram',
    of: ['server', 'store'],
    labels: ['method', 'route', 'status'],
    title: 'Duration of long polls and event streams',
    buckets: [0.01, 0.1, 1, 5, 10, 30, 60, 300],
  },
  storeOpenWaits: {
    name: 'agl_store_waits',
    type: 'gauge',
    of: ['server', 'store'],
    labels: ['kind'],
    title: 'Open long polls and event streams by kind: `claim`, `rollouts`, `events`',
  },
  storeRollouts: {
    name: 'agl_store_rollouts',
    type: 'gauge',
    of: ['server', 'store'],
    labels: ['status'],
    title: 'Unfinished rollouts by status',
  },
  storeEnqueued: {
    name: 'agl_store_enqueued_total',
    type: 'counter',
    of: ['server', 'store'],
    labels: [],
    title: 'Rollouts enqueued by this server',
  },
  storeClaims: {
    name: 'agl_store_claims_total',
    type: 'counter',
    of: ['server', 'store'],
    labels: [],
    title: 'Rollouts claimed from this server',
  },
  storeSpans: {
    name: 'agl_store_spans_total',
    type: 'counter',
    of: ['server', 'store'],
    labels: ['format'],
    title: 'Spans recorded by this server by format: `json` or `otlp`',
  },
  storeSpanBytes: {
    name: 'agl_store_span_bytes_total',
    type: 'counter',
    of: ['server', 'store'],
    labels: ['format'],
    title: 'Bytes of request bodies with spans',
  },

  gatewayCalls: {
    name: 'agl_gateway_calls_total',
    type: 'counter',
    of: ['server', 'gateway'],
    labels: ['api', 'model', 'status'],
    title: 'Finished model calls by response status',
  },
  gatewayCallDuration: {
    name: 'agl_gateway_call_duration_seconds',
    type: 'histogram',
    of: ['server', 'gateway'],
    labels: ['api', 'model'],
    title: 'Duration of model calls, from arrival until recorded, in seconds',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
  gatewayCallAdded: {
    name: 'agl_gateway_call_added_seconds',
    type: 'histogram',
    of: ['server', 'gateway'],
    labels: ['api', 'model'],
    title: 'Part of the duration not spent waiting for the model, for calls that are not streamed',
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1],
  },
  gatewayFirstToken: {
    name: 'agl_gateway_first_token_seconds',
    type: 'histogram',
    of: ['server', 'gateway'],
    labels: ['model'],
    title: 'Time to the first byte of a response',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
  gatewayTokens: {
    name: 'agl_gateway_tokens_total',
    type: 'counter',
    of: ['server', 'gateway'],
    labels: ['model', 'kind'],
    title: 'Tokens of prompts and completions, as counted by the engine',
  },
  gatewayRecordedCalls: {
    name: 'agl_gateway_recorded_calls_total',
    type: 'counter',
    of: ['server', 'gateway'],
    labels: ['model', 'kind'],
    title: 'Recorded calls: trainable, untrainable, failed or unattributed',
  },
  gatewayUpstreamRequests: {
    name: 'agl_gateway_upstream_request_seconds',
    type: 'histogram',
    of: ['server', 'gateway'],
    labels: ['upstream', 'outcome'],
    title: 'Duration of upstream requests; until the head, for streams',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
  gatewayUpstreamRetries: {
    name: 'agl_gateway_upstream_retries_total',
    type: 'counter',
    of: ['server', 'gateway'],
    labels: ['upstream'],
    title: 'Retries after upstream failures',
  },
  gatewayDeploymentCalls: {
    name: 'agl_gateway_deployment_calls_total',
    type: 'counter',
    of: ['server', 'gateway'],
    labels: ['deployment', 'role', 'outcome'],
    title: 'Calls of deployments by role of the version (`live`, `candidate`): responded, failed or fell_back',
  },
  gatewayCandidateShare: {
    name: 'agl_gateway_candidate_share',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: ['deployment'],
    title: 'Share of the users whose calls are for the candidate; 0 without one',
  },
  gatewayRecordsWaiting: {
    name: 'agl_gateway_deployment_records_waiting',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: [],
    title: 'Calls of deployments that wait to be recorded',
  },
  gatewayRecordsLost: {
    name: 'agl_gateway_deployment_records_lost',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: [],
    title:
      'Calls of deployments that were not recorded since the start, because the buffer was full or the store refused them',
  },
  gatewayCallsInFlight: {
    name: 'agl_gateway_calls_in_flight',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: [],
    title: 'Model calls in flight',
  },
  gatewayPaused: {
    name: 'agl_gateway_paused',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: [],
    title: 'Whether model calls are rejected',
  },
  gatewayUpstreamUp: {
    name: 'agl_gateway_upstream_up',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: ['upstream'],
    title: 'Whether an upstream works',
  },
  gatewayUpstreamInFlight: {
    name: 'agl_gateway_upstream_in_flight',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: ['upstream'],
    title: 'Calls in flight at an upstream',
  },
  gatewayUpstreamQueued: {
    name: 'agl_gateway_upstream_queued',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: ['upstream'],
    title: 'Calls in the queue of an upstream',
  },
  gatewayUpstreamTokenIds: {
    name: 'agl_gateway_upstream_token_ids',
    type: 'gauge',
    of: ['server', 'gateway'],
    labels: ['upstream'],
    title: 'Whether an upstream returns token ids; absent until its first response',
  },

  trainRunning: {
    name: 'agl_train_running',
    type: 'gauge',
    of: ['server', 'train'],
    labels: [],
    title: 'Whether a run is trained now',
  },
  trainStep: {
    name: 'agl_train_step',
    type: 'gauge',
    of: ['server', 'train'],
    labels: ['run'],
    title: 'Last finished step of the current run',
  },
  trainLastStepTime: {
    name: 'agl_train_last_step_timestamp_seconds',
    type: 'gauge',
    of: ['server', 'train'],
    labels: ['run'],
    title: 'When the last step finished, or the run began',
  },
  trainReward: {
    name: 'agl_train_reward',
    type: 'gauge',
    of: ['server', 'train'],
    labels: ['run'],
    title: 'Mean reward of the rollouts of the last step',
  },
  trainEvaluationReward: {
    name: 'agl_train_evaluation_reward',
    type: 'gauge',
    of: ['server', 'train'],
    labels: ['run', 'phase'],
    title: 'Mean reward of held-out tasks, by phase',
  },
  trainMetric: {
    name: 'agl_train_metric',
    type: 'gauge',
    of: ['server', 'train'],
    labels: ['run', 'name'],
    title: 'Metrics of the last step by name, such as policy/entropy',
  },
  trainSteps: {
    name: 'agl_train_steps_total',
    type: 'counter',
    of: ['server', 'train'],
    labels: [],
    title: 'Finished training steps',
  },
  trainStepDuration: {
    name: 'agl_train_step_duration_seconds',
    type: 'histogram',
    of: ['server', 'train'],
    labels: [],
    title: 'Duration of training steps',
    buckets: [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600],
  },
  trainWarnings: {
    name: 'agl_train_warnings_total',
    type: 'counter',
    of: ['server', 'train'],
    labels: ['warning'],
    title: 'Warnings about runs by name',
  },
  serverRuns: {
    name: 'agl_server_runs',
    type: 'gauge',
    of: ['server'],
    labels: ['status'],
    title: 'Runs of the server by status',
  },
  runnerRunningAttempts: {
    name: 'agl_runner_running_attempts',
    type: 'gauge',
    of: ['runner'],
    labels: [],
    title: 'Attempts that run',
  },
  activities: {
    name: 'agl_activity_duration_seconds',
    type: 'histogram',
    of: ['train', 'runner'],
    labels: ['activity', 'outcome'],
    title: 'Duration of activities: attempts of a runner, phases of training steps, model calls',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800],
  },
} as const;

/** The options of an instrument of `prom-client` for a metric of the catalogue, without its registry. */
export function instrumentOptions<TMetric extends OperationalMetric>({
  name,
  title,
  labels,
  buckets,
}: TMetric): { name: string; help: string; labelNames: TMetric['labels']; buckets?: number[] } {
  return { name, help: title, labelNames: labels, ...(buckets === undefined ? {} : { buckets: [...buckets] }) };
}
