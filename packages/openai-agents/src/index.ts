export type { InstrumentOpenAIAgentsOptions } from './instrument-openai-agents.ts';
export { instrumentOpenAIAgents } from './instrument-openai-agents.ts';
