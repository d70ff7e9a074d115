import { AgentLightningError } from '../base/agent-lightning-error.ts';
import { fieldsOf } from '../spans/unknown-value.ts';
import { loadModule, requireFrom } from './module-requires.ts';

/**
 * The installed version of a package, resolved from a module.
 *
 * @param name - the package, which must export its `package.json`
 * @param moduleUrl - the `import.meta.url` of the module
 * @returns null when the version cannot be determined: in a bundle, on an edge runtime, or without the package
 */
export function installedVersion(name: string, moduleUrl: string | undefined): string | null {
  const beside = requireFrom(moduleUrl);
  const [manifest] = beside === null ? [] : loadModule(beside, `${name}/package.json`);
  const { version } = fieldsOf(manifest);
  return typeof version === 'string' ? version : null;
}

/** Error of an adapter for an unsupported framework version: found version, supported versions, remedy. */
export function unsupportedFramework(message: string, remedy: string): AgentLightningError {
  return new AgentLightningError({ code: 'UNSUPPORTED_FRAMEWORK', message, remedy });
}
