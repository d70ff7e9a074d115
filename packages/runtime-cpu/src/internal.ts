/**
 * What the other packages of Agent Lightning share with this one. It can change in every release: programs of users import the
 * root of the package.
 *
 * @module
 */
export type { ChatMessage, ChatTool } from '@agentlightning/runtime/internal/serving';
export { baseModels, loadBaseModel } from './base-models.ts';
export { isCheckpointFolder } from './checkpoint/checkpoint-marker.ts';
export { tinyModelConfig } from './model/model-config.ts';
export { ModelEngine } from './model-engine.ts';
export { renderPrompt } from './text/chat-template.ts';
export { parseResponse } from './text/response-parser.ts';
export { decodeTokens, encodeText } from './text/tokenizer.ts';
