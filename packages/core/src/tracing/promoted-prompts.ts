import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { errorMessage } from '../base/error-message.ts';
import type { JsonValue } from '../base/json.ts';
import { isObject, textOf } from '../base/json-access.ts';
import type { PromptTemplateResource } from '../store/resource.ts';
import type { Store } from '../store/store.ts';

/** Prompts that are promoted to a deployment, in a store. */
export interface StoredPrompts {
  /** A client with the right to read runs, such as that of a key of the role `viewer`. */
  readonly store: Pick<Store, 'getRun'>;
  /** The name of the deployment. */
  readonly deployment: string;
}

/** Options of {@link loadPrompts}. */
export interface LoadPromptsOptions {
  /** Called when the prompts cannot be read; the previous ones stay in use. @default errors are ignored */
  readonly onError?: (error: AgentLightningError) => void;
}

/** Prompts that are kept up to date. */
export interface LoadedPrompts extends Disposable {
  /** The version of the loaded prompts; null while the texts in the code are in use. */
  readonly version: string | null;
  /** Reads the prompts now. It never rejects. */
  refresh(): Promise<void>;
}

/** Interval of reading, in milliseconds. */
const intervalMs = 10_000;

/** Maximum wait for the first prompts, so that an unavailable store does not delay the start, in milliseconds. */
const startTimeoutMs = 2000;

/** Shared by all copies of this module in a process. */
const registryKey = Symbol.for('agentlightning.promoted-prompts');

type Registry = Map<string, PromptTemplateResource>;

function registry(): Registry {
  const holder: typeof globalThis & { [registryKey]?: Registry } = globalThis;
  holder[registryKey] ??= new Map();
  return holder[registryKey];
}

/** The promoted version of a prompt; null for none. */
export function promotedPrompt(name: string): PromptTemplateResource | null {
  return registry().get(name) ?? null;
}

/**
 * Loads promoted prompts, now and whenever they change, for all prompts of the application that `definePrompt` has defined. The
 * text in the code is in use until the first prompts are loaded, and for a promoted text with variables that the code does not
 * have. An unavailable file or store fails no request: the last prompts stay in use.
 *
 * @param source - the file that a prompt search writes (`promptsFile`), or a deployment in a store
 * @returns once the prompts are loaded, or after 2 seconds
 *
 * @example
 * ```ts
 * const answering = definePrompt('answering', 'Answer in one word: {question}');
 * await loadPrompts('prompts.json');
 * const prompt = answering.format({ question: 'What is the capital of France?' });
 * ```
 */
export async function loadPrompts(
  source: string | StoredPrompts,
  { onError }: LoadPromptsOptions = {},
): Promise<LoadedPrompts> {
  let version: string | null = null;
  let isStopped = false;
  let loadedNames: readonly string[] = [];
  const refresh = async (): Promise<void> => {
    try {
      const loaded = promptsOf(await read(source), describe(source));
      if (isStopped) return;
      for (const name of loadedNames) if (!(name in loaded.prompts)) registry().delete(name);
      for (const [name, prompt] of Object.entries(loaded.prompts)) registry().set(name, prompt);
      loadedNames = Object.keys(loaded.prompts);
      version = loaded.version;
    } catch (error) {
      onError?.(unreadable(describe(source), error));
    }
  };
  const timer = setInterval(() => void refresh(), intervalMs);
  unref(timer);
  await within(refresh(), startTimeoutMs);
  return {
    get version() {
      return version;
    },
    refresh,
    [Symbol.dispose]: () => {
      isStopped = true;
      clearInterval(timer);
      for (const name of loadedNames) registry().delete(name);
    },
  };
}

async function read(source: string | StoredPrompts): Promise<JsonValue> {
  if (typeof source !== 'string') {
    const { state } = await source.store.getRun(source.deployment);
    return state['prompts'] ?? { best: null, prompts: {} };
  }
  const files = globalThis.process?.getBuiltinModule?.('node:fs/promises');
  if (files === undefined) throw invalid('this platform has no file system');
  return JSON.parse(await files.readFile(source, 'utf8'));
}

/** The prompts of a file of `promptsFile`, or of the same object in a store. */
function promptsOf(
  value: JsonValue,
  source: string,
): { readonly version: string | null; readonly prompts: Readonly<Record<string, PromptTemplateResource>> } {
  if (!isObject(value) || !isObject(value['prompts'])) throw invalid(`${source} has no \`prompts\``);
  const prompts = Object.entries(value['prompts']).map(([name, prompt]): [string, PromptTemplateResource] => {
    const template = isObject(prompt) ? textOf(prompt['template']) : null;
    if (template === null) throw invalid(`the prompt "${name}" has no template`);
    return [name, { resourceType: 'prompt_template', template, engine: 'f-string' }];
  });
  return { version: textOf(value['best']), prompts: Object.fromEntries(prompts) };
}

function invalid(message: string): AgentLightningError {
  return new AgentLightningError({ code: 'VALIDATION', message });
}

function describe(source: string | StoredPrompts): string {
  return typeof source === 'string' ? source : `the deployment ${source.deployment}`;
}

function unreadable(source: string, cause: unknown): AgentLightningError {
  return new AgentLightningError({
    code: AgentLightningError.isInstance(cause) ? cause.code : 'VALIDATION',
    message: `the prompts of ${source} cannot be read: ${errorMessage(cause)}`,
    remedy: 'The previous prompts stay in use. Correct the file, or make the store available.',
    cause,
  });
}

/** Waits for work, at most for a time. */
async function within(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([work, timeout]);
  clearTimeout(timer);
}

/** Does not keep a process alive, where the platform has such timers. */
function unref(timer: unknown): void {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function')
    timer.unref();
}
