/** Around every page, signed in or not. */
import { Outlet } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ToastList } from "@/ui/toasts";
import { useApp } from "./context";

export function Root(): ReactNode {
  const { toasts } = useApp();
  return (
    <>
      <Outlet />
      <ToastList toasts={toasts} />
    </>
  );
}
