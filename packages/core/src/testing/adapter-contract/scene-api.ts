import type { AdapterUnderTest, SceneModelOptions } from './adapter-under-test.ts';

/** What an API calls things, as the scripted server speaks it. */
export interface SceneApi {
  /** The path below the root of the server. */
  readonly path: string;
  readonly idPrefix: string;
  /** So many events come before those that a Chat Completions stream begins with. */
  readonly extraEvents: number;
  /** Whether answers say why they ended. */
  readonly hasFinishReason: boolean;
}

const apis: Readonly<Record<SceneModelOptions['api'], SceneApi>> = {
  'chat-completions': { path: '/v1/chat/completions', idPrefix: 'chatcmpl-', extraEvents: 0, hasFinishReason: true },
  responses: { path: '/v1/responses', idPrefix: 'resp_', extraEvents: 3, hasFinishReason: false },
};

/** The API that an adapter's models speak in all scenes that do not ask for one. */
export function sceneApi<TModel>(adapter: AdapterUnderTest<TModel>): SceneApi {
  return apis[adapter.api ?? 'chat-completions'];
}
