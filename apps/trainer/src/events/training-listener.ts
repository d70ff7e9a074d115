import type { TrainingEvent } from '@agentlightning/core/protocol';

/** An event about the services and the agents of a run. */
export type ServiceEvent = Extract<TrainingEvent, { readonly type: 'warning' | 'runners' | 'agent-output' }>;

/** Receives the events about services and agents. */
export type ServiceListener = (event: ServiceEvent) => void;

/** Receives the events of a run. */
export type TrainingListener = (event: TrainingEvent) => void;
