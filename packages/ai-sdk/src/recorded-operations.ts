import { AgentSteps } from '@agentlightning/core/adapter';
import { Operations } from './operations.ts';

/** The operations of this process: events, models and the global fetch all speak of the same ones. */
export const operations: Operations = new Operations(new AgentSteps({ framework: 'ai-sdk' }));
