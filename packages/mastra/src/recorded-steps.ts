import { AgentSteps } from '@agentlightning/core/adapter';

/** Steps of all agents in this process. */
export const steps: AgentSteps = new AgentSteps({ framework: 'mastra' });
