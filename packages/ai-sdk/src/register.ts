/**
 * Instruments the AI SDK by being imported: `node --import @agentlightning/ai-sdk/register agent.js`, or an import in the
 * agent itself. Use `instrumentAISDK` to give options, or to undo it.
 *
 * @module
 */

import { instrumentAISDK } from './instrument-ai-sdk.ts';

instrumentAISDK();
