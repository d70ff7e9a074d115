/** The environment variables of this process, to which configurations refer. */
export function environmentVariables(): NodeJS.ProcessEnv {
  return process.env;
}

/** Whether `AGL_ALLOW_INSECURE_KEYS` allows keys over plain `http:` to other machines. */
export function areInsecureKeysAllowed(): boolean {
  return ['1', 'true'].includes(process.env['AGL_ALLOW_INSECURE_KEYS'] ?? '');
}
