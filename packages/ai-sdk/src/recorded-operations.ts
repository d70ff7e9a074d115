import { AgentSteps } from '@agentlightning/core/adapter';
import { Operations } from './operations.ts';

/** The operations of this process, shared by the telemetry, wrapped models and the global fetch. */
export const operations: Operations = new Operations(new AgentSteps({ framework: 'ai-sdk' }));
