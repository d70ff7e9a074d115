export { didYouMean } from './nearest-name.ts';
export { parseSettings, type SettingsDescription } from './parse-settings.ts';
export {
  env,
  formerSecretHint,
  readSecret,
  type Secret,
  type SecretVariable,
  secretFormSchema,
  secretSchema,
  secretText,
} from './secret.ts';
