import type { RunnerRecord } from '@agentlightning/core/protocol';
import type { StoreStatistics, Worker } from '@agentlightning/core/store';

/** A runner with the load that it reports. */
export type RunnerView = RunnerRecord;

/** A gateway with its upstreams. */
export interface GatewayView {
  readonly workerId: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  readonly url: string;
  /** The run that it serves; null for any run. */
  readonly runId: string | null;
  readonly isLost: boolean;
  /** Whether new calls wait, such as for a publication of weights. */
  readonly isPaused: boolean;
  readonly inFlight: number;
  readonly upstreams: readonly UpstreamView[];
  readonly lastHeartbeatTimeMs: number | null;
}

/** A model endpoint behind a gateway. */
export interface UpstreamView {
  readonly id: string;
  /** Null when the agent's model name is sent. */
  readonly model: string | null;
  readonly isUp: boolean;
  readonly inFlight: number;
  readonly queued: number;
  /** Whether it returns token ids: `unknown`, `given`, `missing` or `refused`. */
  readonly tokenIds: string;
  readonly lastFailure: string | null;
}

/** A worker that is neither a runner nor a gateway. */
export interface OtherWorkerView extends Worker {
  /** Whether its last heartbeat is older than its lease. */
  readonly isLost: boolean;
  /** Whether it has ended, as a trainer reports it. */
  readonly isEnded: boolean;
}

/** The workers of a store. */
export interface WorkerList {
  readonly runners: readonly RunnerView[];
  readonly gateways: readonly GatewayView[];
  /** Trainers, and workers of other programs. */
  readonly others: readonly OtherWorkerView[];
  /** Time of the server in Unix milliseconds, for ages. */
  readonly nowMs: number;
}

/** The store behind the dashboard. */
export interface StoreView {
  /** Label of the store, without passwords. */
  readonly label: string;
  /** Whether the dashboard records annotations; a key may still be necessary. */
  readonly canAnnotate: boolean;
  /** Whether the dashboard offers data sets of runs for download. */
  readonly hasDatasets: boolean;
  /** Whether the dashboard audits the rewards of runs. */
  readonly hasAudits: boolean;
  readonly statistics: StoreStatistics;
}

/** Changes of the store since the previous event. */
export interface ChangeEvent {
  readonly runIds: readonly string[];
  readonly rolloutIds: readonly string[];
  /** Whether changes may have been missed: everything must be read again. */
  readonly isUnknown: boolean;
}

/** The last event of a dashboard that ends. */
export interface ClosingEvent {
  /** Why it ends, and how to continue. */
  readonly notice: string;
}

/** Body of an error response. */
export interface ErrorView {
  readonly error: { readonly code: string; readonly message: string; readonly remedy: string };
}
