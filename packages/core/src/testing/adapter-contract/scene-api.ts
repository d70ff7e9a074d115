import type { AdapterUnderTest, SceneModelOptions } from './adapter-under-test.ts';

/** A gate that a scene waits for. */
export interface Gate {
  readonly opened: Promise<void>;
  readonly open: () => void;
}

/** Creates a closed gate. */
export function aGate(): Gate {
  let open: () => void = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** API-specific values of the scripted server. */
export interface SceneApi {
  /** Path below the root of the server, without its query. */
  readonly path: string;
  readonly idPrefix: string;
  /** Number of additional events before the first events of a Chat Completions stream. */
  readonly extraEvents: number;
  /** Whether responses have a finish reason. */
  readonly hasFinishReason: boolean;
}

const apis: Readonly<Record<SceneModelOptions['api'], SceneApi>> = {
  'chat-completions': { path: '/v1/chat/completions', idPrefix: 'chatcmpl-', extraEvents: 0, hasFinishReason: true },
  messages: { path: '/v1/messages', idPrefix: 'msg_', extraEvents: 2, hasFinishReason: false },
  responses: { path: '/v1/responses', idPrefix: 'resp_', extraEvents: 3, hasFinishReason: false },
};

/** The API of an adapter's models in all scenes without an explicit API. */
export function sceneApi<TModel>(adapter: AdapterUnderTest<TModel>): SceneApi {
  return apis[adapter.api ?? 'chat-completions'];
}
