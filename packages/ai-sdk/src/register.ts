/**
 * Instruments the AI SDK by being imported: `node --import @agentlightning/ai-sdk/register agent.js`, or an import in the
 * agent itself. Use `instrumentAiSdk` to give options, or to undo it.
 *
 * @module
 */

import { instrumentAiSdk } from './instrument-ai-sdk.ts';

instrumentAiSdk();
