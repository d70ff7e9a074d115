import { useSyncExternalStore } from 'react';

/** The colour theme: that of the system, or a choice. */
export type ColorTheme = 'auto' | 'light' | 'dark';

const storageKey = 'agl-theme';
const listeners = new Set<() => void>();
const systemTheme = matchMedia('(prefers-color-scheme: dark)');

function notify(): void {
  for (const listener of listeners) listener();
}

systemTheme.addEventListener('change', notify);

function currentTheme(): ColorTheme {
  const stored = localStorage.getItem(storageKey);
  return stored === 'light' || stored === 'dark' ? stored : 'auto';
}

/** Applies a theme to the page and stores it. */
export function setColorTheme(theme: ColorTheme): void {
  if (theme === 'auto') localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, theme);
  applyColorTheme();
  notify();
}

/** Applies the stored theme to the page. */
export function applyColorTheme(): void {
  document.documentElement.dataset['theme'] = currentTheme();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The chosen theme. */
export function useColorTheme(): ColorTheme {
  return useSyncExternalStore(subscribe, currentTheme);
}

/** Whether the page is dark now. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, () => {
    const theme = currentTheme();
    return theme === 'auto' ? systemTheme.matches : theme === 'dark';
  });
}

/** The value of a colour variable of the style sheet, for a canvas. */
export function colorOf(variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
