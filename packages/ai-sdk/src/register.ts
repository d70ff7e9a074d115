/**
 * Instruments the AI SDK on import: `node --import @agentlightning/ai-sdk/register agent.js`, or an import in the agent. For
 * options or the undo, use `instrumentAISDK`.
 *
 * @module
 */

import { instrumentAISDK } from './instrument-ai-sdk.ts';

instrumentAISDK();
