/** The environment variables of this process. */
export function environmentVariables(): NodeJS.ProcessEnv {
  return process.env;
}
