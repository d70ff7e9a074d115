import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/tokens.css';
import './styles/layout.css';
import './styles/tables.css';
import './styles/rollout.css';
import './styles/charts.css';
import { ApiError } from './data/api-client.ts';
import { applyColorTheme } from './data/color-theme.ts';
import { createAppRouter } from './router.tsx';

/** Failures that a retry does not change. */
const permanentCodes: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'VALIDATION',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
]);

applyColorTheme();
const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      retry: (failures, error) => failures < 1 && !(error instanceof ApiError && permanentCodes.has(error.code)),
    },
  },
});
const root = document.getElementById('root');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <RouterProvider router={createAppRouter()} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
