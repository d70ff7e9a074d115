/**
 * Instruments on import: `node --import @agentlightning/langchain/register agent.js`.
 *
 * @module
 */

import { instrumentLangChain } from './instrument-langchain.ts';

instrumentLangChain();
