/**
 * Instruments OpenAI Agents by being imported: `node --import @agentlightning/openai-agents/register agent.js`, or an
 * import in the agent itself. Use `instrumentOpenAIAgents` to give options, or to undo it.
 *
 * @module
 */

import { instrumentOpenAIAgents } from './instrument-openai-agents.ts';

instrumentOpenAIAgents();
