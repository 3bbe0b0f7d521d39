import { useQuery } from "@tanstack/react-query";
import { useDesk } from "../../desk/DeskContext";

/** Rules change without the request: read again after this time. */
const AGAIN_MS = 5_000;

/** Why a request asks or was decided. */
export const useWhy = (key: string) => {
  const desk = useDesk();
  return useQuery({
    queryKey: ["why", key],
    queryFn: () => desk.call("why", { key }),
    staleTime: 0,
    refetchInterval: AGAIN_MS,
  });
};
