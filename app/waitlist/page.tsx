import type { Metadata } from "next"
import { SignInLayout } from "@/components/sign-in-layout"
import { WaitlistForm } from "./waitlist-form"

export const metadata: Metadata = { title: "Join the waitlist" }

export default async function WaitlistPage({ searchParams }: PageProps<"/waitlist">) {
  const { source } = await searchParams
  return (
    <SignInLayout title="Join the waitlist">
      <WaitlistForm source={typeof source === "string" ? source : ""} />
    </SignInLayout>
  )
}
