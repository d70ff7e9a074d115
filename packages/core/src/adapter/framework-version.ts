import { AgentLightningError } from '../errors/agent-lightning-error.ts';
import { fieldsOf } from './foreign-value.ts';
import { loadModule, requireFrom } from './module-requires.ts';

/**
 * The version of a package that is installed beside a module.
 *
 * @param name - the package, which lets its `package.json` be imported
 * @param moduleUrl - the `import.meta.url` of the module
 * @returns null where there is no way to tell: bundled, on the edge, or not installed where the module is
 */
export function installedVersion(name: string, moduleUrl: string | undefined): string | null {
  const beside = requireFrom(moduleUrl);
  const [manifest] = beside === null ? [] : loadModule(beside, `${name}/package.json`);
  const { version } = fieldsOf(manifest);
  return typeof version === 'string' ? version : null;
}

/** The error of an adapter for a framework that is not what it works with: what was found, what is supported, what to do. */
export function unsupportedFramework(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'UNSUPPORTED_FRAMEWORK', message, remedy });
}
