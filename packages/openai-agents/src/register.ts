/**
 * Instruments OpenAI Agents on import: `node --import @agentlightning/openai-agents/register agent.js`, or an import in the
 * agent. For options or the undo, use `instrumentOpenAIAgents`.
 *
 * @module
 */

import { instrumentOpenAIAgents } from './instrument-openai-agents.ts';

instrumentOpenAIAgents();
