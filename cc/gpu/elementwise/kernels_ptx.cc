// Made by tools/generate_ptx.py from kernels.cu and the headers it includes: do not edit.
#include "cc/gpu/elementwise/kernels_ptx.h"

namespace rnn_ops {
namespace gpu {
namespace elementwise {

// clang-format off
const char kKernelsPtx[] = R"PTX(.version 6.3
.target sm_60
.address_size 64
	// .globl	block_lstm_forward_f32
.visible .entry block_lstm_forward_f32(
	.param .align 8 .b8 block_lstm_forward_f32_param_0[136]
)
{
	.reg .pred 	%p<15>;
	.reg .f32 	%f<126>;
	.reg .b32 	%r<21>;
	.reg .b64 	%rd<102>;
	mov.b64 	%rd44, block_lstm_forward_f32_param_0;
	add.s64 	%rd1, %rd44, 120;
	ld.param.u64 	%rd2, [block_lstm_forward_f32_param_0+120];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd99, %r1;
	ld.param.u64 	%rd4, [block_lstm_forward_f32_param_0+112];
	setp.le.s64 	%p1, %rd4, %rd99;
	@%p1 bra 	$L__BB0_12;
	ld.param.u64 	%rd46, [%rd1+-120];
	cvta.to.global.u64 	%rd47, %rd46;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd48, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd49, %r4;
	add.s64 	%rd5, %rd48, %rd49;
	ld.param.u64 	%rd50, [%rd1+-80];
	cvta.to.global.u64 	%rd51, %rd50;
	ld.param.u64 	%rd52, [%rd1+-112];
	cvta.to.global.u64 	%rd53, %rd52;
	ld.param.u64 	%rd6, [%rd1+-104];
	ld.param.f32 	%f1, [%rd1+8];
	neg.f32 	%f2, %f1;
	ld.param.u64 	%rd7, [%rd1+-88];
	cvta.to.global.u64 	%rd54, %rd6;
	ld.param.u64 	%rd55, [%rd1+-96];
	cvta.to.global.u64 	%rd56, %rd55;
	ld.param.u64 	%rd57, [%rd1+-64];
	cvta.to.global.u64 	%rd58, %rd57;
	ld.param.u64 	%rd59, [%rd1+-56];
	cvta.to.global.u64 	%rd60, %rd59;
	ld.param.u64 	%rd61, [%rd1+-48];
	cvta.to.global.u64 	%rd62, %rd61;
	ld.param.u64 	%rd63, [%rd1+-40];
	cvta.to.global.u64 	%rd64, %rd63;
	ld.param.u64 	%rd65, [%rd1+-32];
	cvta.to.global.u64 	%rd66, %rd65;
	ld.param.u64 	%rd67, [%rd1+-24];
	cvta.to.global.u64 	%rd68, %rd67;
	ld.param.u64 	%rd69, [%rd1+-16];
	cvta.to.global.u64 	%rd70, %rd69;
	ld.param.u64 	%rd8, [%rd1+-72];
	cvta.to.global.u64 	%rd71, %rd7;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd9, %r5, %r3;
	cvta.to.global.u64 	%rd72, %rd8;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd10, %r6;
	mul.wide.u32 	%rd73, %r4, 4;
	add.s64 	%rd11, %rd71, %rd73;
	shl.b64 	%rd12, %rd48, 2;
	shl.b64 	%rd13, %rd9, 2;
	add.s64 	%rd14, %rd56, %rd73;
	add.s64 	%rd15, %rd54, %rd73;
	add.s64 	%rd16, %rd53, %rd73;
	add.s64 	%rd17, %rd72, %rd73;
	add.s64 	%rd18, %rd70, %rd73;
	add.s64 	%rd19, %rd68, %rd73;
	add.s64 	%rd20, %rd66, %rd73;
	add.s64 	%rd21, %rd64, %rd73;
	add.s64 	%rd22, %rd62, %rd73;
	add.s64 	%rd23, %rd60, %rd73;
	add.s64 	%rd24, %rd58, %rd73;
	add.s64 	%rd25, %rd51, %rd73;
	shl.b64 	%rd26, %rd2, 2;
	add.s64 	%rd27, %rd47, %rd73;
$L__BB0_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd5, %rd2;
	@%p2 bra 	$L__BB0_11;
	mul.lo.s64 	%rd74, %rd2, %rd99;
	shl.b64 	%rd75, %rd74, 2;
	add.s64 	%rd29, %rd17, %rd75;
	add.s64 	%rd30, %rd18, %rd75;
	add.s64 	%rd31, %rd19, %rd75;
	add.s64 	%rd32, %rd20, %rd75;
	add.s64 	%rd33, %rd21, %rd75;
	add.s64 	%rd34, %rd22, %rd75;
	add.s64 	%rd35, %rd23, %rd75;
	add.s64 	%rd36, %rd24, %rd75;
	add.s64 	%rd37, %rd25, %rd75;
	mul.lo.s64 	%rd76, %rd26, %rd99;
	shl.b64 	%rd77, %rd76, 2;
	add.s64 	%rd38, %rd27, %rd77;
	mov.u64 	%rd100, %rd12;
	mov.u64 	%rd101, %rd5;
$L__BB0_4:
	.pragma "nounroll";
	add.s64 	%rd78, %rd37, %rd100;
	ld.global.f32 	%f3, [%rd78];
	add.s64 	%rd79, %rd38, %rd100;
	add.s64 	%rd80, %rd16, %rd100;
	ld.global.f32 	%f18, [%rd80];
	ld.global.f32 	%f19, [%rd79];
	add.f32 	%f123, %f19, %f18;
	add.s64 	%rd81, %rd79, %rd26;
	add.s64 	%rd82, %rd80, %rd26;
	ld.global.f32 	%f20, [%rd82];
	ld.global.f32 	%f21, [%rd81];
	add.f32 	%f124, %f21, %f20;
	add.s64 	%rd83, %rd81, %rd26;
	add.s64 	%rd84, %rd82, %rd26;
	ld.global.f32 	%f22, [%rd84];
	ld.global.f32 	%f23, [%rd83];
	add.f32 	%f6, %f23, %f22;
	add.s64 	%rd85, %rd83, %rd26;
	add.s64 	%rd86, %rd84, %rd26;
	ld.global.f32 	%f24, [%rd86];
	ld.global.f32 	%f25, [%rd85];
	add.f32 	%f125, %f25, %f24;
	setp.eq.s64 	%p3, %rd6, 0;
	@%p3 bra 	$L__BB0_6;
	add.s64 	%rd87, %rd15, %rd100;
	ld.global.f32 	%f26, [%rd87];
	fma.rn.f32 	%f123, %f3, %f26, %f123;
	add.s64 	%rd88, %rd14, %rd100;
	ld.global.f32 	%f27, [%rd88];
	fma.rn.f32 	%f124, %f3, %f27, %f124;
$L__BB0_6:
	neg.f32 	%f28, %f123;
	mov.f32 	%f29, 0f3F000000;
	mov.f32 	%f30, 0f3BBB989D;
	fma.rn.f32 	%f31, %f28, %f30, %f29;
	cvt.sat.f32.f32 	%f32, %f31;
	mov.f32 	%f33, 0f4B400001;
	mov.f32 	%f34, 0f437C0000;
	fma.rm.f32 	%f35, %f32, %f34, %f33;
	add.f32 	%f36, %f35, 0fCB40007F;
	neg.f32 	%f37, %f36;
	mov.f32 	%f38, 0f3FB8AA3B;
	fma.rn.f32 	%f39, %f28, %f38, %f37;
	mov.f32 	%f40, 0f32A57060;
	fma.rn.f32 	%f41, %f28, %f40, %f39;
	mov.b32 	%r7, %f35;
	shl.b32 	%r8, %r7, 23;
	mov.b32 	%f42, %r8;
	ex2.approx.ftz.f32 	%f43, %f41;
	fma.rn.f32 	%f44, %f43, %f42, 0f3F800000;
	mov.f32 	%f45, 0f3F800000;
	rcp.rn.f32 	%f12, %f44;
	neg.f32 	%f46, %f124;
	fma.rn.f32 	%f47, %f46, %f30, %f29;
	cvt.sat.f32.f32 	%f48, %f47;
	fma.rm.f32 	%f49, %f48, %f34, %f33;
	add.f32 	%f50, %f49, 0fCB40007F;
	neg.f32 	%f51, %f50;
	fma.rn.f32 	%f52, %f46, %f38, %f51;
	fma.rn.f32 	%f53, %f46, %f40, %f52;
	mov.b32 	%r9, %f49;
	shl.b32 	%r10, %r9, 23;
	mov.b32 	%f54, %r10;
	ex2.approx.ftz.f32 	%f55, %f53;
	fma.rn.f32 	%f56, %f55, %f54, 0f3F800000;
	rcp.rn.f32 	%f13, %f56;
	abs.f32 	%f57, %f6;
	mul.f32 	%f58, %f57, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f59, %f58;
	add.f32 	%f60, %f59, 0f3F800000;
	rcp.approx.ftz.f32 	%f61, %f60;
	mov.f32 	%f62, 0fC0000000;
	fma.rn.f32 	%f63, %f61, %f62, %f45;
	setp.ge.f32 	%p4, %f57, 0f41102CB4;
	selp.f32 	%f64, 0f3F800000, %f63, %p4;
	mov.b32 	%r11, %f64;
	mov.b32 	%r12, %f6;
	and.b32  	%r13, %r12, -2147483648;
	or.b32  	%r14, %r13, %r11;
	mov.b32 	%f65, %r14;
	mul.f32 	%f66, %f6, %f6;
	mov.f32 	%f67, 0fBD563CAE;
	mov.f32 	%f68, 0f3C80F082;
	fma.rn.f32 	%f69, %f68, %f66, %f67;
	mov.f32 	%f70, 0f3E085941;
	fma.rn.f32 	%f71, %f69, %f66, %f70;
	mov.f32 	%f72, 0fBEAAA9ED;
	fma.rn.f32 	%f73, %f71, %f66, %f72;
	mov.f32 	%f74, 0f00000000;
	fma.rn.f32 	%f75, %f73, %f66, %f74;
	fma.rn.f32 	%f76, %f75, %f6, %f6;
	setp.ge.f32 	%p5, %f57, 0f3F19999A;
	selp.f32 	%f14, %f65, %f76, %p5;
	mul.f32 	%f77, %f12, %f14;
	fma.rn.f32 	%f78, %f3, %f13, %f77;
	setp.gt.f32 	%p6, %f78, %f1;
	setp.lt.f32 	%p7, %f78, %f2;
	selp.f32 	%f79, %f2, %f78, %p7;
	selp.f32 	%f80, %f1, %f79, %p6;
	setp.gt.f32 	%p8, %f1, 0f00000000;
	selp.f32 	%f15, %f80, %f78, %p8;
	setp.eq.s64 	%p9, %rd7, 0;
	@%p9 bra 	$L__BB0_8;
	add.s64 	%rd89, %rd11, %rd100;
	ld.global.f32 	%f81, [%rd89];
	fma.rn.f32 	%f125, %f15, %f81, %f125;
$L__BB0_8:
	neg.f32 	%f82, %f125;
	fma.rn.f32 	%f85, %f82, %f30, %f29;
	cvt.sat.f32.f32 	%f86, %f85;
	fma.rm.f32 	%f89, %f86, %f34, %f33;
	add.f32 	%f90, %f89, 0fCB40007F;
	neg.f32 	%f91, %f90;
	fma.rn.f32 	%f93, %f82, %f38, %f91;
	fma.rn.f32 	%f95, %f82, %f40, %f93;
	mov.b32 	%r15, %f89;
	shl.b32 	%r16, %r15, 23;
	mov.b32 	%f96, %r16;
	ex2.approx.ftz.f32 	%f97, %f95;
	fma.rn.f32 	%f98, %f97, %f96, 0f3F800000;
	rcp.rn.f32 	%f100, %f98;
	abs.f32 	%f101, %f15;
	mul.f32 	%f102, %f101, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f103, %f102;
	add.f32 	%f104, %f103, 0f3F800000;
	rcp.approx.ftz.f32 	%f105, %f104;
	fma.rn.f32 	%f107, %f105, %f62, %f45;
	setp.ge.f32 	%p10, %f101, 0f41102CB4;
	selp.f32 	%f108, 0f3F800000, %f107, %p10;
	mov.b32 	%r17, %f108;
	mov.b32 	%r18, %f15;
	and.b32  	%r19, %r18, -2147483648;
	or.b32  	%r20, %r19, %r17;
	mov.b32 	%f109, %r20;
	mul.f32 	%f110, %f15, %f15;
	fma.rn.f32 	%f113, %f68, %f110, %f67;
	fma.rn.f32 	%f115, %f113, %f110, %f70;
	fma.rn.f32 	%f117, %f115, %f110, %f72;
	fma.rn.f32 	%f119, %f117, %f110, %f74;
	fma.rn.f32 	%f120, %f119, %f15, %f15;
	setp.ge.f32 	%p11, %f101, 0f3F19999A;
	selp.f32 	%f121, %f109, %f120, %p11;
	add.s64 	%rd90, %rd36, %rd100;
	st.global.f32 	[%rd90], %f12;
	add.s64 	%rd91, %rd35, %rd100;
	st.global.f32 	[%rd91], %f15;
	add.s64 	%rd92, %rd34, %rd100;
	st.global.f32 	[%rd92], %f13;
	add.s64 	%rd93, %rd33, %rd100;
	st.global.f32 	[%rd93], %f100;
	add.s64 	%rd94, %rd32, %rd100;
	st.global.f32 	[%rd94], %f14;
	add.s64 	%rd95, %rd31, %rd100;
	st.global.f32 	[%rd95], %f121;
	mul.f32 	%f122, %f100, %f121;
	add.s64 	%rd96, %rd30, %rd100;
	st.global.f32 	[%rd96], %f122;
	setp.eq.s64 	%p12, %rd8, 0;
	@%p12 bra 	$L__BB0_10;
	add.s64 	%rd97, %rd29, %rd100;
	st.global.f32 	[%rd97], %f15;
$L__BB0_10:
	add.s64 	%rd101, %rd101, %rd9;
	add.s64 	%rd100, %rd100, %rd13;
	setp.lt.s64 	%p13, %rd101, %rd2;
	@%p13 bra 	$L__BB0_4;
$L__BB0_11:
	ld.param.u64 	%rd98, [block_lstm_forward_f32_param_0+112];
	add.s64 	%rd99, %rd99, %rd10;
	setp.lt.s64 	%p14, %rd99, %rd98;
	@%p14 bra 	$L__BB0_2;
$L__BB0_12:
	ret;
}
	// .globl	block_lstm_backward_f32
.visible .entry block_lstm_backward_f32(
	.param .align 8 .b8 block_lstm_backward_f32_param_0[136]
)
{
	.reg .pred 	%p<13>;
	.reg .f32 	%f<97>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<137>;
	mov.b64 	%rd67, block_lstm_backward_f32_param_0;
	add.s64 	%rd1, %rd67, 128;
	ld.param.u64 	%rd2, [block_lstm_backward_f32_param_0+128];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd133, %r1;
	ld.param.u64 	%rd4, [block_lstm_backward_f32_param_0+120];
	setp.le.s64 	%p1, %rd4, %rd133;
	@%p1 bra 	$L__BB1_21;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd69, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd70, %r4;
	add.s64 	%rd5, %rd69, %rd70;
	ld.param.u64 	%rd71, [%rd1+-128];
	cvta.to.global.u64 	%rd6, %rd71;
	ld.param.u64 	%rd72, [%rd1+-120];
	cvta.to.global.u64 	%rd7, %rd72;
	ld.param.u64 	%rd73, [%rd1+-112];
	cvta.to.global.u64 	%rd8, %rd73;
	ld.param.u64 	%rd74, [%rd1+-104];
	cvta.to.global.u64 	%rd9, %rd74;
	ld.param.u64 	%rd75, [%rd1+-96];
	cvta.to.global.u64 	%rd10, %rd75;
	ld.param.u64 	%rd76, [%rd1+-72];
	cvta.to.global.u64 	%rd11, %rd76;
	ld.param.u64 	%rd77, [%rd1+-80];
	cvta.to.global.u64 	%rd12, %rd77;
	ld.param.u64 	%rd13, [%rd1+-32];
	ld.param.u64 	%rd14, [%rd1+-40];
	cvta.to.global.u64 	%rd78, %rd14;
	ld.param.u64 	%rd15, [%rd1+-48];
	cvta.to.global.u64 	%rd16, %rd13;
	ld.param.u64 	%rd79, [%rd1+-88];
	cvta.to.global.u64 	%rd17, %rd79;
	ld.param.u64 	%rd18, [%rd1+-64];
	cvta.to.global.u64 	%rd19, %rd15;
	shl.b64 	%rd20, %rd2, 2;
	ld.param.u64 	%rd80, [%rd1+-16];
	cvta.to.global.u64 	%rd21, %rd80;
	ld.param.u64 	%rd81, [%rd1+-24];
	cvta.to.global.u64 	%rd22, %rd81;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd23, %r5, %r3;
	cvta.to.global.u64 	%rd24, %rd18;
	ld.param.u64 	%rd82, [%rd1+-56];
	cvta.to.global.u64 	%rd25, %rd82;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd26, %r6;
	mul.wide.u32 	%rd83, %r4, 4;
	add.s64 	%rd27, %rd25, %rd83;
	shl.b64 	%rd28, %rd69, 2;
	shl.b64 	%rd29, %rd23, 2;
	add.s64 	%rd30, %rd24, %rd83;
	add.s64 	%rd31, %rd19, %rd83;
	add.s64 	%rd32, %rd22, %rd83;
	add.s64 	%rd33, %rd17, %rd83;
	add.s64 	%rd34, %rd16, %rd83;
	add.s64 	%rd35, %rd78, %rd83;
	add.s64 	%rd36, %rd12, %rd83;
	add.s64 	%rd37, %rd11, %rd83;
	add.s64 	%rd38, %rd10, %rd83;
	add.s64 	%rd39, %rd9, %rd83;
	add.s64 	%rd40, %rd8, %rd83;
	add.s64 	%rd41, %rd7, %rd83;
	add.s64 	%rd42, %rd6, %rd83;
	add.s64 	%rd43, %rd21, %rd83;
$L__BB1_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd5, %rd2;
	@%p2 bra 	$L__BB1_20;
	setp.eq.s64 	%p3, %rd14, 0;
	mul.lo.s64 	%rd45, %rd133, %rd2;
	mul.lo.s64 	%rd46, %rd20, %rd133;
	@%p3 bra 	$L__BB1_12;
	shl.b64 	%rd84, %rd45, 2;
	add.s64 	%rd47, %rd32, %rd84;
	add.s64 	%rd48, %rd33, %rd84;
	add.s64 	%rd49, %rd34, %rd84;
	add.s64 	%rd50, %rd35, %rd46;
	add.s64 	%rd51, %rd36, %rd84;
	add.s64 	%rd52, %rd37, %rd84;
	add.s64 	%rd53, %rd38, %rd84;
	add.s64 	%rd54, %rd39, %rd84;
	add.s64 	%rd55, %rd40, %rd84;
	add.s64 	%rd56, %rd41, %rd84;
	add.s64 	%rd57, %rd42, %rd84;
	shl.b64 	%rd85, %rd46, 2;
	add.s64 	%rd58, %rd43, %rd85;
	mov.u64 	%rd134, %rd28;
	mov.u64 	%rd135, %rd5;
$L__BB1_5:
	.pragma "nounroll";
	add.s64 	%rd86, %rd57, %rd134;
	ld.global.f32 	%f1, [%rd86];
	add.s64 	%rd87, %rd56, %rd134;
	ld.global.f32 	%f2, [%rd87];
	add.s64 	%rd88, %rd55, %rd134;
	ld.global.f32 	%f3, [%rd88];
	add.s64 	%rd89, %rd54, %rd134;
	ld.global.f32 	%f4, [%rd89];
	add.s64 	%rd90, %rd53, %rd134;
	ld.global.f32 	%f5, [%rd90];
	add.s64 	%rd91, %rd52, %rd134;
	add.s64 	%rd92, %rd51, %rd134;
	ld.global.f32 	%f91, [%rd92];
	add.s64 	%rd93, %rd50, %rd134;
	ld.global.f32 	%f37, [%rd93];
	ld.global.f32 	%f38, [%rd91];
	add.f32 	%f7, %f38, %f37;
	setp.eq.s64 	%p4, %rd13, 0;
	@%p4 bra 	$L__BB1_7;
	add.s64 	%rd94, %rd49, %rd134;
	ld.global.f32 	%f39, [%rd94];
	add.f32 	%f91, %f91, %f39;
$L__BB1_7:
	mov.f32 	%f40, 0f3F800000;
	sub.f32 	%f41, %f40, %f3;
	mul.f32 	%f42, %f3, %f41;
	mul.f32 	%f43, %f5, %f7;
	mul.f32 	%f10, %f42, %f43;
	mul.f32 	%f44, %f5, %f5;
	sub.f32 	%f45, %f40, %f44;
	mul.f32 	%f46, %f3, %f7;
	fma.rn.f32 	%f92, %f45, %f46, %f91;
	setp.eq.s64 	%p5, %rd15, 0;
	@%p5 bra 	$L__BB1_9;
	add.s64 	%rd95, %rd31, %rd134;
	ld.global.f32 	%f47, [%rd95];
	fma.rn.f32 	%f92, %f10, %f47, %f92;
$L__BB1_9:
	sub.f32 	%f49, %f40, %f1;
	mul.f32 	%f50, %f1, %f49;
	mul.f32 	%f51, %f4, %f92;
	mul.f32 	%f14, %f50, %f51;
	add.s64 	%rd96, %rd48, %rd134;
	ld.global.f32 	%f52, [%rd96];
	mul.f32 	%f53, %f92, %f52;
	sub.f32 	%f54, %f40, %f2;
	mul.f32 	%f55, %f2, %f54;
	mul.f32 	%f15, %f55, %f53;
	mul.f32 	%f93, %f2, %f92;
	setp.eq.s64 	%p6, %rd18, 0;
	@%p6 bra 	$L__BB1_11;
	add.s64 	%rd97, %rd30, %rd134;
	ld.global.f32 	%f56, [%rd97];
	add.s64 	%rd98, %rd27, %rd134;
	ld.global.f32 	%f57, [%rd98];
	mul.f32 	%f58, %f15, %f57;
	fma.rn.f32 	%f59, %f14, %f56, %f58;
	add.f32 	%f93, %f93, %f59;
$L__BB1_11:
	add.s64 	%rd99, %rd58, %rd134;
	st.global.f32 	[%rd99], %f14;
	add.s64 	%rd100, %rd99, %rd20;
	st.global.f32 	[%rd100], %f15;
	mul.f32 	%f60, %f4, %f4;
	mov.f32 	%f61, 0f3F800000;
	sub.f32 	%f62, %f61, %f60;
	mul.f32 	%f63, %f1, %f92;
	mul.f32 	%f64, %f62, %f63;
	add.s64 	%rd101, %rd100, %rd20;
	st.global.f32 	[%rd101], %f64;
	add.s64 	%rd102, %rd101, %rd20;
	st.global.f32 	[%rd102], %f10;
	add.s64 	%rd103, %rd47, %rd134;
	st.global.f32 	[%rd103], %f93;
	add.s64 	%rd134, %rd134, %rd29;
	add.s64 	%rd135, %rd135, %rd23;
	setp.lt.s64 	%p7, %rd135, %rd2;
	@%p7 bra 	$L__BB1_5;
	bra.uni 	$L__BB1_20;
$L__BB1_12:
	mov.u64 	%rd136, %rd5;
$L__BB1_13:
	.pragma "nounroll";
	add.s64 	%rd64, %rd136, %rd45;
	shl.b64 	%rd104, %rd64, 2;
	add.s64 	%rd105, %rd6, %rd104;
	ld.global.f32 	%f19, [%rd105];
	add.s64 	%rd106, %rd7, %rd104;
	ld.global.f32 	%f20, [%rd106];
	add.s64 	%rd107, %rd8, %rd104;
	ld.global.f32 	%f21, [%rd107];
	add.s64 	%rd108, %rd9, %rd104;
	ld.global.f32 	%f22, [%rd108];
	add.s64 	%rd109, %rd10, %rd104;
	ld.global.f32 	%f23, [%rd109];
	add.s64 	%rd110, %rd11, %rd104;
	ld.global.f32 	%f24, [%rd110];
	add.s64 	%rd111, %rd12, %rd104;
	ld.global.f32 	%f94, [%rd111];
	setp.eq.s64 	%p8, %rd13, 0;
	@%p8 bra 	$L__BB1_15;
	cvta.to.global.u64 	%rd130, %rd13;
	add.s64 	%rd113, %rd130, %rd104;
	ld.global.f32 	%f65, [%rd113];
	add.f32 	%f94, %f94, %f65;
$L__BB1_15:
	mov.f32 	%f66, 0f3F800000;
	sub.f32 	%f67, %f66, %f21;
	mul.f32 	%f68, %f21, %f67;
	mul.f32 	%f69, %f23, %f24;
	mul.f32 	%f28, %f68, %f69;
	mul.f32 	%f70, %f23, %f23;
	sub.f32 	%f71, %f66, %f70;
	mul.f32 	%f72, %f21, %f24;
	fma.rn.f32 	%f95, %f71, %f72, %f94;
	setp.eq.s64 	%p9, %rd15, 0;
	@%p9 bra 	$L__BB1_17;
	cvta.to.global.u64 	%rd131, %rd15;
	shl.b64 	%rd114, %rd136, 2;
	add.s64 	%rd115, %rd131, %rd114;
	ld.global.f32 	%f73, [%rd115];
	fma.rn.f32 	%f95, %f28, %f73, %f95;
$L__BB1_17:
	sub.f32 	%f75, %f66, %f19;
	mul.f32 	%f76, %f19, %f75;
	mul.f32 	%f77, %f22, %f95;
	mul.f32 	%f32, %f76, %f77;
	add.s64 	%rd117, %rd17, %rd104;
	ld.global.f32 	%f78, [%rd117];
	mul.f32 	%f79, %f95, %f78;
	sub.f32 	%f80, %f66, %f20;
	mul.f32 	%f81, %f20, %f80;
	mul.f32 	%f33, %f81, %f79;
	mul.f32 	%f96, %f20, %f95;
	setp.eq.s64 	%p10, %rd18, 0;
	@%p10 bra 	$L__BB1_19;
	cvta.to.global.u64 	%rd132, %rd18;
	shl.b64 	%rd118, %rd136, 2;
	add.s64 	%rd119, %rd132, %rd118;
	ld.global.f32 	%f82, [%rd119];
	add.s64 	%rd120, %rd25, %rd118;
	ld.global.f32 	%f83, [%rd120];
	mul.f32 	%f84, %f33, %f83;
	fma.rn.f32 	%f85, %f32, %f82, %f84;
	add.f32 	%f96, %f96, %f85;
$L__BB1_19:
	add.s64 	%rd121, %rd136, %rd46;
	shl.b64 	%rd122, %rd121, 2;
	add.s64 	%rd123, %rd21, %rd122;
	st.global.f32 	[%rd123], %f32;
	add.s64 	%rd124, %rd123, %rd20;
	st.global.f32 	[%rd124], %f33;
	mul.f32 	%f86, %f22, %f22;
	mov.f32 	%f87, 0f3F800000;
	sub.f32 	%f88, %f87, %f86;
	mul.f32 	%f89, %f19, %f95;
	mul.f32 	%f90, %f88, %f89;
	add.s64 	%rd125, %rd124, %rd20;
	st.global.f32 	[%rd125], %f90;
	add.s64 	%rd126, %rd125, %rd20;
	st.global.f32 	[%rd126], %f28;
	add.s64 	%rd128, %rd22, %rd104;
	st.global.f32 	[%rd128], %f96;
	add.s64 	%rd136, %rd136, %rd23;
	setp.lt.s64 	%p11, %rd136, %rd2;
	@%p11 bra 	$L__BB1_13;
$L__BB1_20:
	ld.param.u64 	%rd129, [block_lstm_backward_f32_param_0+120];
	add.s64 	%rd133, %rd133, %rd26;
	setp.lt.s64 	%p12, %rd133, %rd129;
	@%p12 bra 	$L__BB1_2;
$L__BB1_21:
	ret;
}
	// .globl	block_lstm_sums_f32
.visible .entry block_lstm_sums_f32(
	.param .align 8 .b8 block_lstm_sums_f32_param_0[80]
)
{
	.reg .pred 	%p<39>;
	.reg .f32 	%f<225>;
	.reg .b32 	%r<14>;
	.reg .b64 	%rd<324>;
	ld.param.u64 	%rd96, [block_lstm_sums_f32_param_0+72];
	ld.param.u64 	%rd95, [block_lstm_sums_f32_param_0+64];
	ld.param.u64 	%rd94, [block_lstm_sums_f32_param_0+56];
	ld.param.u64 	%rd93, [block_lstm_sums_f32_param_0+48];
	ld.param.u64 	%rd92, [block_lstm_sums_f32_param_0+40];
	ld.param.u64 	%rd91, [block_lstm_sums_f32_param_0+32];
	ld.param.u64 	%rd90, [block_lstm_sums_f32_param_0+24];
	ld.param.u64 	%rd89, [block_lstm_sums_f32_param_0+16];
	ld.param.u64 	%rd88, [block_lstm_sums_f32_param_0+8];
	ld.param.u64 	%rd87, [block_lstm_sums_f32_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd312, %r1;
	setp.le.s64 	%p1, %rd94, %rd312;
	@%p1 bra 	$L__BB2_52;
	cvta.to.global.u64 	%rd8, %rd88;
	cvta.to.global.u64 	%rd9, %rd90;
	cvta.to.global.u64 	%rd10, %rd89;
	cvta.to.global.u64 	%rd11, %rd87;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd98, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd99, %r4;
	add.s64 	%rd12, %rd98, %rd99;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd13, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd14, %r6;
	mul.lo.s64 	%rd100, %rd95, %rd312;
	xor.b64  	%rd15, %rd100, 3;
	mul.lo.s64 	%rd101, %rd95, %rd14;
	neg.s64 	%rd16, %rd101;
	mov.u64 	%rd311, 0;
	add.s64 	%rd102, %rd100, %rd95;
	not.b64 	%rd17, %rd102;
	not.b64 	%rd18, %rd91;
	mov.u64 	%rd103, -2;
	sub.s64 	%rd19, %rd103, %rd100;
	shl.b64 	%rd20, %rd13, 2;
	shl.b64 	%rd104, %rd98, 2;
	mul.wide.u32 	%rd105, %r4, 4;
	add.s64 	%rd21, %rd104, %rd105;
	shl.b64 	%rd22, %rd93, 4;
	shl.b64 	%rd23, %rd93, 2;
$L__BB2_2:
	.pragma "nounroll";
	ld.param.u64 	%rd295, [block_lstm_sums_f32_param_0+32];
	ld.param.u64 	%rd294, [block_lstm_sums_f32_param_0+64];
	mul.lo.s64 	%rd106, %rd311, %rd16;
	add.s64 	%rd107, %rd106, %rd15;
	add.s64 	%rd108, %rd106, %rd17;
	max.s64 	%rd109, %rd108, %rd18;
	sub.s64 	%rd26, %rd107, %rd109;
	add.s64 	%rd110, %rd19, %rd106;
	sub.s64 	%rd27, %rd110, %rd109;
	mul.lo.s64 	%rd28, %rd312, %rd294;
	add.s64 	%rd111, %rd28, %rd294;
	min.s64 	%rd29, %rd111, %rd295;
	setp.ge.s64 	%p2, %rd12, %rd93;
	@%p2 bra 	$L__BB2_51;
	setp.lt.s64 	%p3, %rd28, %rd29;
	mul.lo.s64 	%rd30, %rd312, %rd96;
	@%p3 bra 	$L__BB2_20;
	bra.uni 	$L__BB2_4;
$L__BB2_20:
	mul.lo.s64 	%rd298, %rd312, %rd96;
	ld.param.u64 	%rd297, [block_lstm_sums_f32_param_0+64];
	mul.lo.s64 	%rd296, %rd312, %rd294;
	and.b64  	%rd42, %rd26, 3;
	mul.lo.s64 	%rd44, %rd296, %rd93;
	shl.b64 	%rd43, %rd44, 2;
	sub.s64 	%rd140, %rd296, %rd92;
	mul.lo.s64 	%rd45, %rd140, %rd93;
	add.s64 	%rd46, %rd296, 1;
	mul.lo.s64 	%rd141, %rd46, %rd93;
	shl.b64 	%rd47, %rd141, 2;
	sub.s64 	%rd142, %rd46, %rd92;
	mul.lo.s64 	%rd48, %rd142, %rd93;
	mul.lo.s64 	%rd49, %rd298, %rd93;
	add.s64 	%rd50, %rd49, %rd93;
	add.s64 	%rd51, %rd296, 2;
	mul.lo.s64 	%rd143, %rd51, %rd93;
	shl.b64 	%rd52, %rd143, 2;
	sub.s64 	%rd144, %rd51, %rd92;
	mul.lo.s64 	%rd53, %rd144, %rd93;
	add.s64 	%rd54, %rd296, 3;
	add.s64 	%rd55, %rd50, %rd93;
	add.s64 	%rd56, %rd55, %rd93;
	add.s64 	%rd57, %rd56, %rd93;
	add.s64 	%rd58, %rd57, %rd93;
	add.s64 	%rd59, %rd58, %rd93;
	mov.u64 	%rd315, 0;
	mov.u64 	%rd316, %rd12;
$L__BB2_21:
	.pragma "nounroll";
	mul.lo.s64 	%rd145, %rd20, %rd315;
	add.s64 	%rd62, %rd21, %rd145;
	add.s64 	%rd63, %rd11, %rd62;
	setp.gt.s64 	%p12, %rd96, 4;
	@%p12 bra 	$L__BB2_29;
	bra.uni 	$L__BB2_22;
$L__BB2_29:
	setp.eq.s64 	%p18, %rd42, 0;
	mov.f32 	%f218, 0f00000000;
	mov.f32 	%f219, %f218;
	mov.f32 	%f220, %f218;
	mov.f32 	%f221, %f218;
	mov.f32 	%f222, %f218;
	mov.f32 	%f223, %f218;
	mov.f32 	%f224, %f218;
	mov.u64 	%rd320, %rd28;
	@%p18 bra 	$L__BB2_33;
	ld.param.u64 	%rd301, [block_lstm_sums_f32_param_0+64];
	mul.lo.s64 	%rd300, %rd312, %rd294;
	mul.lo.s64 	%rd299, %rd296, %rd93;
	setp.eq.s64 	%p19, %rd42, 1;
	add.s64 	%rd180, %rd43, %rd316;
	shl.b64 	%rd181, %rd180, 2;
	add.s64 	%rd182, %rd11, %rd181;
	ld.global.f32 	%f131, [%rd182];
	add.f32 	%f224, %f131, 0f00000000;
	add.s64 	%rd183, %rd182, %rd23;
	ld.global.f32 	%f132, [%rd183];
	add.f32 	%f223, %f132, 0f00000000;
	add.s64 	%rd184, %rd183, %rd23;
	ld.global.f32 	%f133, [%rd184];
	add.f32 	%f222, %f133, 0f00000000;
	add.s64 	%rd185, %rd184, %rd23;
	ld.global.f32 	%f134, [%rd185];
	add.f32 	%f221, %f134, 0f00000000;
	add.s64 	%rd186, %rd299, %rd316;
	shl.b64 	%rd187, %rd186, 2;
	add.s64 	%rd70, %rd10, %rd187;
	add.s64 	%rd188, %rd45, %rd316;
	shl.b64 	%rd189, %rd188, 2;
	add.s64 	%rd190, %rd8, %rd189;
	setp.lt.s64 	%p20, %rd300, %rd92;
	selp.b64 	%rd191, %rd70, %rd190, %p20;
	ld.global.f32 	%f135, [%rd191];
	fma.rn.f32 	%f220, %f135, %f131, 0f00000000;
	fma.rn.f32 	%f219, %f135, %f132, 0f00000000;
	add.s64 	%rd71, %rd8, %rd187;
	ld.global.f32 	%f136, [%rd71];
	fma.rn.f32 	%f218, %f134, %f136, 0f00000000;
	mov.u64 	%rd320, %rd46;
	@%p19 bra 	$L__BB2_33;
	setp.eq.s64 	%p21, %rd42, 2;
	add.s64 	%rd192, %rd47, %rd316;
	shl.b64 	%rd193, %rd192, 2;
	add.s64 	%rd194, %rd11, %rd193;
	ld.global.f32 	%f137, [%rd194];
	add.f32 	%f224, %f137, %f224;
	add.s64 	%rd195, %rd194, %rd23;
	ld.global.f32 	%f138, [%rd195];
	add.f32 	%f223, %f138, %f223;
	add.s64 	%rd196, %rd195, %rd23;
	ld.global.f32 	%f139, [%rd196];
	add.f32 	%f222, %f139, %f222;
	add.s64 	%rd197, %rd196, %rd23;
	ld.global.f32 	%f140, [%rd197];
	add.f32 	%f221, %f140, %f221;
	add.s64 	%rd198, %rd48, %rd316;
	shl.b64 	%rd199, %rd198, 2;
	add.s64 	%rd200, %rd8, %rd199;
	add.s64 	%rd72, %rd70, %rd23;
	setp.lt.s64 	%p22, %rd46, %rd92;
	selp.b64 	%rd202, %rd72, %rd200, %p22;
	ld.global.f32 	%f141, [%rd202];
	fma.rn.f32 	%f220, %f141, %f137, %f220;
	fma.rn.f32 	%f219, %f141, %f138, %f219;
	add.s64 	%rd73, %rd71, %rd23;
	ld.global.f32 	%f142, [%rd73];
	fma.rn.f32 	%f218, %f140, %f142, %f218;
	mov.u64 	%rd320, %rd51;
	@%p21 bra 	$L__BB2_33;
	setp.lt.s64 	%p23, %rd51, %rd92;
	add.s64 	%rd203, %rd52, %rd316;
	shl.b64 	%rd204, %rd203, 2;
	add.s64 	%rd205, %rd11, %rd204;
	ld.global.f32 	%f143, [%rd205];
	add.f32 	%f224, %f143, %f224;
	add.s64 	%rd206, %rd205, %rd23;
	ld.global.f32 	%f144, [%rd206];
	add.f32 	%f223, %f144, %f223;
	add.s64 	%rd207, %rd206, %rd23;
	ld.global.f32 	%f145, [%rd207];
	add.f32 	%f222, %f145, %f222;
	add.s64 	%rd208, %rd207, %rd23;
	ld.global.f32 	%f146, [%rd208];
	add.f32 	%f221, %f146, %f221;
	add.s64 	%rd209, %rd53, %rd316;
	shl.b64 	%rd210, %rd209, 2;
	add.s64 	%rd211, %rd8, %rd210;
	add.s64 	%rd213, %rd72, %rd23;
	selp.b64 	%rd214, %rd213, %rd211, %p23;
	ld.global.f32 	%f147, [%rd214];
	fma.rn.f32 	%f220, %f147, %f143, %f220;
	fma.rn.f32 	%f219, %f147, %f144, %f219;
	add.s64 	%rd215, %rd73, %rd23;
	ld.global.f32 	%f148, [%rd215];
	fma.rn.f32 	%f218, %f146, %f148, %f218;
	mov.u64 	%rd320, %rd54;
$L__BB2_33:
	setp.lt.u64 	%p24, %rd27, 3;
	@%p24 bra 	$L__BB2_36;
	mul.lo.s64 	%rd216, %rd22, %rd320;
	add.s64 	%rd322, %rd63, %rd216;
	mul.lo.s64 	%rd217, %rd23, %rd320;
	add.s64 	%rd218, %rd8, %rd62;
	add.s64 	%rd323, %rd218, %rd217;
$L__BB2_35:
	ld.global.f32 	%f149, [%rd322];
	add.f32 	%f150, %f149, %f224;
	add.s64 	%rd219, %rd322, %rd23;
	ld.global.f32 	%f151, [%rd219];
	add.f32 	%f152, %f151, %f223;
	add.s64 	%rd220, %rd219, %rd23;
	ld.global.f32 	%f153, [%rd220];
	add.f32 	%f154, %f153, %f222;
	add.s64 	%rd221, %rd220, %rd23;
	ld.global.f32 	%f155, [%rd221];
	add.f32 	%f156, %f155, %f221;
	mul.lo.s64 	%rd222, %rd320, %rd93;
	add.s64 	%rd223, %rd222, %rd316;
	shl.b64 	%rd224, %rd223, 2;
	add.s64 	%rd225, %rd10, %rd224;
	sub.s64 	%rd226, %rd320, %rd92;
	mul.lo.s64 	%rd227, %rd226, %rd93;
	add.s64 	%rd228, %rd227, %rd316;
	shl.b64 	%rd229, %rd228, 2;
	add.s64 	%rd230, %rd8, %rd229;
	setp.lt.s64 	%p25, %rd320, %rd92;
	selp.b64 	%rd231, %rd225, %rd230, %p25;
	ld.global.f32 	%f157, [%rd231];
	fma.rn.f32 	%f158, %f157, %f149, %f220;
	fma.rn.f32 	%f159, %f157, %f151, %f219;
	ld.global.f32 	%f160, [%rd323];
	fma.rn.f32 	%f161, %f155, %f160, %f218;
	add.s64 	%rd232, %rd221, %rd23;
	ld.global.f32 	%f162, [%rd232];
	add.f32 	%f163, %f162, %f150;
	add.s64 	%rd233, %rd232, %rd23;
	ld.global.f32 	%f164, [%rd233];
	add.f32 	%f165, %f164, %f152;
	add.s64 	%rd234, %rd233, %rd23;
	ld.global.f32 	%f166, [%rd234];
	add.f32 	%f167, %f166, %f154;
	add.s64 	%rd235, %rd234, %rd23;
	ld.global.f32 	%f168, [%rd235];
	add.f32 	%f169, %f168, %f156;
	add.s64 	%rd236, %rd320, 1;
	setp.lt.s64 	%p26, %rd236, %rd92;
	add.s64 	%rd238, %rd225, %rd23;
	sub.s64 	%rd239, %rd236, %rd92;
	mul.lo.s64 	%rd240, %rd239, %rd93;
	add.s64 	%rd241, %rd240, %rd316;
	shl.b64 	%rd242, %rd241, 2;
	add.s64 	%rd243, %rd8, %rd242;
	selp.b64 	%rd244, %rd238, %rd243, %p26;
	ld.global.f32 	%f170, [%rd244];
	fma.rn.f32 	%f171, %f170, %f162, %f158;
	fma.rn.f32 	%f172, %f170, %f164, %f159;
	add.s64 	%rd245, %rd323, %rd23;
	ld.global.f32 	%f173, [%rd245];
	fma.rn.f32 	%f174, %f168, %f173, %f161;
	add.s64 	%rd246, %rd235, %rd23;
	ld.global.f32 	%f175, [%rd246];
	add.f32 	%f176, %f175, %f163;
	add.s64 	%rd247, %rd246, %rd23;
	ld.global.f32 	%f177, [%rd247];
	add.f32 	%f178, %f177, %f165;
	add.s64 	%rd248, %rd247, %rd23;
	ld.global.f32 	%f179, [%rd248];
	add.f32 	%f180, %f179, %f167;
	add.s64 	%rd249, %rd248, %rd23;
	ld.global.f32 	%f181, [%rd249];
	add.f32 	%f182, %f181, %f169;
	add.s64 	%rd250, %rd320, 2;
	setp.lt.s64 	%p27, %rd250, %rd92;
	add.s64 	%rd251, %rd238, %rd23;
	sub.s64 	%rd252, %rd250, %rd92;
	mul.lo.s64 	%rd253, %rd252, %rd93;
	add.s64 	%rd254, %rd253, %rd316;
	shl.b64 	%rd255, %rd254, 2;
	add.s64 	%rd256, %rd8, %rd255;
	selp.b64 	%rd257, %rd251, %rd256, %p27;
	ld.global.f32 	%f183, [%rd257];
	fma.rn.f32 	%f184, %f183, %f175, %f171;
	fma.rn.f32 	%f185, %f183, %f177, %f172;
	add.s64 	%rd258, %rd245, %rd23;
	ld.global.f32 	%f186, [%rd258];
	fma.rn.f32 	%f187, %f181, %f186, %f174;
	add.s64 	%rd259, %rd249, %rd23;
	ld.global.f32 	%f188, [%rd259];
	add.f32 	%f224, %f188, %f176;
	add.s64 	%rd260, %rd259, %rd23;
	ld.global.f32 	%f189, [%rd260];
	add.f32 	%f223, %f189, %f178;
	add.s64 	%rd261, %rd260, %rd23;
	ld.global.f32 	%f190, [%rd261];
	add.f32 	%f222, %f190, %f180;
	add.s64 	%rd262, %rd261, %rd23;
	add.s64 	%rd322, %rd262, %rd23;
	ld.global.f32 	%f191, [%rd262];
	add.f32 	%f221, %f191, %f182;
	add.s64 	%rd263, %rd320, 3;
	setp.lt.s64 	%p28, %rd263, %rd92;
	add.s64 	%rd264, %rd251, %rd23;
	sub.s64 	%rd265, %rd263, %rd92;
	mul.lo.s64 	%rd266, %rd265, %rd93;
	add.s64 	%rd267, %rd266, %rd316;
	shl.b64 	%rd268, %rd267, 2;
	add.s64 	%rd269, %rd8, %rd268;
	selp.b64 	%rd270, %rd264, %rd269, %p28;
	ld.global.f32 	%f192, [%rd270];
	fma.rn.f32 	%f220, %f192, %f188, %f184;
	fma.rn.f32 	%f219, %f192, %f189, %f185;
	add.s64 	%rd271, %rd258, %rd23;
	add.s64 	%rd323, %rd271, %rd23;
	ld.global.f32 	%f193, [%rd271];
	fma.rn.f32 	%f218, %f191, %f193, %f187;
	add.s64 	%rd320, %rd320, 4;
	setp.lt.s64 	%p29, %rd320, %rd29;
	@%p29 bra 	$L__BB2_35;
	bra.uni 	$L__BB2_36;
$L__BB2_22:
	setp.eq.s64 	%p13, %rd42, 0;
	mov.f32 	%f221, 0f00000000;
	mov.f32 	%f222, %f221;
	mov.f32 	%f223, %f221;
	mov.f32 	%f224, %f221;
	mov.u64 	%rd317, %rd28;
	@%p13 bra 	$L__BB2_26;
	setp.eq.s64 	%p14, %rd42, 1;
	add.s64 	%rd146, %rd43, %rd316;
	shl.b64 	%rd147, %rd146, 2;
	add.s64 	%rd148, %rd11, %rd147;
	ld.global.f32 	%f78, [%rd148];
	add.f32 	%f224, %f78, 0f00000000;
	add.s64 	%rd149, %rd148, %rd23;
	ld.global.f32 	%f79, [%rd149];
	add.f32 	%f223, %f79, 0f00000000;
	add.s64 	%rd150, %rd149, %rd23;
	ld.global.f32 	%f80, [%rd150];
	add.f32 	%f222, %f80, 0f00000000;
	add.s64 	%rd151, %rd150, %rd23;
	ld.global.f32 	%f81, [%rd151];
	add.f32 	%f221, %f81, 0f00000000;
	mov.u64 	%rd317, %rd46;
	@%p14 bra 	$L__BB2_26;
	setp.eq.s64 	%p15, %rd42, 2;
	add.s64 	%rd152, %rd47, %rd316;
	shl.b64 	%rd153, %rd152, 2;
	add.s64 	%rd154, %rd11, %rd153;
	ld.global.f32 	%f82, [%rd154];
	add.f32 	%f224, %f82, %f224;
	add.s64 	%rd155, %rd154, %rd23;
	ld.global.f32 	%f83, [%rd155];
	add.f32 	%f223, %f83, %f223;
	add.s64 	%rd156, %rd155, %rd23;
	ld.global.f32 	%f84, [%rd156];
	add.f32 	%f222, %f84, %f222;
	add.s64 	%rd157, %rd156, %rd23;
	ld.global.f32 	%f85, [%rd157];
	add.f32 	%f221, %f85, %f221;
	mov.u64 	%rd317, %rd51;
	@%p15 bra 	$L__BB2_26;
	add.s64 	%rd158, %rd52, %rd316;
	shl.b64 	%rd159, %rd158, 2;
	add.s64 	%rd160, %rd11, %rd159;
	ld.global.f32 	%f86, [%rd160];
	add.f32 	%f224, %f86, %f224;
	add.s64 	%rd161, %rd160, %rd23;
	ld.global.f32 	%f87, [%rd161];
	add.f32 	%f223, %f87, %f223;
	add.s64 	%rd162, %rd161, %rd23;
	ld.global.f32 	%f88, [%rd162];
	add.f32 	%f222, %f88, %f222;
	add.s64 	%rd163, %rd162, %rd23;
	ld.global.f32 	%f89, [%rd163];
	add.f32 	%f221, %f89, %f221;
	mov.u64 	%rd317, %rd54;
$L__BB2_26:
	mov.f32 	%f218, 0f00000000;
	setp.lt.u64 	%p16, %rd27, 3;
	mov.f32 	%f219, %f218;
	mov.f32 	%f220, %f218;
	@%p16 bra 	$L__BB2_36;
	mul.lo.s64 	%rd164, %rd22, %rd317;
	add.s64 	%rd319, %rd63, %rd164;
$L__BB2_28:
	mov.f32 	%f218, 0f00000000;
	ld.global.f32 	%f96, [%rd319];
	add.f32 	%f97, %f96, %f224;
	add.s64 	%rd165, %rd319, %rd23;
	ld.global.f32 	%f98, [%rd165];
	add.f32 	%f99, %f98, %f223;
	add.s64 	%rd166, %rd165, %rd23;
	ld.global.f32 	%f100, [%rd166];
	add.f32 	%f101, %f100, %f222;
	add.s64 	%rd167, %rd166, %rd23;
	ld.global.f32 	%f102, [%rd167];
	add.f32 	%f103, %f102, %f221;
	add.s64 	%rd168, %rd167, %rd23;
	ld.global.f32 	%f104, [%rd168];
	add.f32 	%f105, %f104, %f97;
	add.s64 	%rd169, %rd168, %rd23;
	ld.global.f32 	%f106, [%rd169];
	add.f32 	%f107, %f106, %f99;
	add.s64 	%rd170, %rd169, %rd23;
	ld.global.f32 	%f108, [%rd170];
	add.f32 	%f109, %f108, %f101;
	add.s64 	%rd171, %rd170, %rd23;
	ld.global.f32 	%f110, [%rd171];
	add.f32 	%f111, %f110, %f103;
	add.s64 	%rd172, %rd171, %rd23;
	ld.global.f32 	%f112, [%rd172];
	add.f32 	%f113, %f112, %f105;
	add.s64 	%rd173, %rd172, %rd23;
	ld.global.f32 	%f114, [%rd173];
	add.f32 	%f115, %f114, %f107;
	add.s64 	%rd174, %rd173, %rd23;
	ld.global.f32 	%f116, [%rd174];
	add.f32 	%f117, %f116, %f109;
	add.s64 	%rd175, %rd174, %rd23;
	ld.global.f32 	%f118, [%rd175];
	add.f32 	%f119, %f118, %f111;
	add.s64 	%rd176, %rd175, %rd23;
	ld.global.f32 	%f120, [%rd176];
	add.f32 	%f224, %f120, %f113;
	add.s64 	%rd177, %rd176, %rd23;
	ld.global.f32 	%f121, [%rd177];
	add.f32 	%f223, %f121, %f115;
	add.s64 	%rd178, %rd177, %rd23;
	ld.global.f32 	%f122, [%rd178];
	add.f32 	%f222, %f122, %f117;
	add.s64 	%rd179, %rd178, %rd23;
	add.s64 	%rd319, %rd179, %rd23;
	ld.global.f32 	%f123, [%rd179];
	add.f32 	%f221, %f123, %f119;
	add.s64 	%rd317, %rd317, 4;
	setp.lt.s64 	%p17, %rd317, %rd29;
	mov.f32 	%f219, %f218;
	mov.f32 	%f220, %f218;
	@%p17 bra 	$L__BB2_28;
$L__BB2_36:
	setp.lt.s64 	%p30, %rd96, 1;
	@%p30 bra 	$L__BB2_38;
	mul.lo.s64 	%rd310, %rd312, %rd96;
	mul.lo.s64 	%rd309, %rd298, %rd93;
	add.s64 	%rd272, %rd309, %rd316;
	shl.b64 	%rd273, %rd272, 2;
	add.s64 	%rd274, %rd9, %rd273;
	st.global.f32 	[%rd274], %f224;
$L__BB2_38:
	setp.lt.s64 	%p31, %rd96, 2;
	@%p31 bra 	$L__BB2_40;
	mul.lo.s64 	%rd308, %rd312, %rd96;
	mul.lo.s64 	%rd307, %rd298, %rd93;
	add.s64 	%rd306, %rd307, %rd93;
	add.s64 	%rd275, %rd306, %rd316;
	shl.b64 	%rd276, %rd275, 2;
	add.s64 	%rd277, %rd9, %rd276;
	st.global.f32 	[%rd277], %f223;
$L__BB2_40:
	setp.lt.s64 	%p32, %rd96, 3;
	@%p32 bra 	$L__BB2_42;
	mul.lo.s64 	%rd305, %rd312, %rd96;
	mul.lo.s64 	%rd304, %rd298, %rd93;
	add.s64 	%rd303, %rd304, %rd93;
	add.s64 	%rd302, %rd303, %rd93;
	add.s64 	%rd278, %rd302, %rd316;
	shl.b64 	%rd279, %rd278, 2;
	add.s64 	%rd280, %rd9, %rd279;
	st.global.f32 	[%rd280], %f222;
$L__BB2_42:
	setp.lt.s64 	%p33, %rd96, 4;
	@%p33 bra 	$L__BB2_44;
	add.s64 	%rd281, %rd56, %rd316;
	shl.b64 	%rd282, %rd281, 2;
	add.s64 	%rd283, %rd9, %rd282;
	st.global.f32 	[%rd283], %f221;
$L__BB2_44:
	setp.lt.s64 	%p34, %rd96, 5;
	@%p34 bra 	$L__BB2_46;
	add.s64 	%rd284, %rd57, %rd316;
	shl.b64 	%rd285, %rd284, 2;
	add.s64 	%rd286, %rd9, %rd285;
	st.global.f32 	[%rd286], %f220;
$L__BB2_46:
	setp.lt.s64 	%p35, %rd96, 6;
	@%p35 bra 	$L__BB2_48;
	add.s64 	%rd287, %rd58, %rd316;
	shl.b64 	%rd288, %rd287, 2;
	add.s64 	%rd289, %rd9, %rd288;
	st.global.f32 	[%rd289], %f219;
$L__BB2_48:
	setp.lt.s64 	%p36, %rd96, 7;
	@%p36 bra 	$L__BB2_50;
	add.s64 	%rd290, %rd59, %rd316;
	shl.b64 	%rd291, %rd290, 2;
	add.s64 	%rd292, %rd9, %rd291;
	st.global.f32 	[%rd292], %f218;
$L__BB2_50:
	add.s64 	%rd316, %rd316, %rd13;
	setp.lt.s64 	%p37, %rd316, %rd93;
	add.s64 	%rd315, %rd315, 1;
	@%p37 bra 	$L__BB2_21;
	bra.uni 	$L__BB2_51;
$L__BB2_4:
	mul.lo.s64 	%rd112, %rd30, %rd93;
	add.s64 	%rd113, %rd30, 6;
	mul.lo.s64 	%rd114, %rd93, %rd113;
	add.s64 	%rd115, %rd12, %rd114;
	shl.b64 	%rd31, %rd115, 2;
	add.s64 	%rd116, %rd30, 5;
	mul.lo.s64 	%rd117, %rd93, %rd116;
	add.s64 	%rd118, %rd12, %rd117;
	shl.b64 	%rd32, %rd118, 2;
	add.s64 	%rd119, %rd30, 4;
	mul.lo.s64 	%rd120, %rd93, %rd119;
	add.s64 	%rd121, %rd12, %rd120;
	shl.b64 	%rd33, %rd121, 2;
	add.s64 	%rd122, %rd30, 3;
	mul.lo.s64 	%rd123, %rd93, %rd122;
	add.s64 	%rd124, %rd12, %rd123;
	shl.b64 	%rd34, %rd124, 2;
	add.s64 	%rd125, %rd30, 2;
	mul.lo.s64 	%rd126, %rd93, %rd125;
	add.s64 	%rd127, %rd12, %rd126;
	shl.b64 	%rd35, %rd127, 2;
	add.s64 	%rd128, %rd30, 1;
	mul.lo.s64 	%rd129, %rd93, %rd128;
	add.s64 	%rd130, %rd12, %rd129;
	shl.b64 	%rd36, %rd130, 2;
	add.s64 	%rd131, %rd12, %rd112;
	shl.b64 	%rd37, %rd131, 2;
	mov.u64 	%rd313, %rd9;
	mov.u64 	%rd314, %rd12;
$L__BB2_5:
	.pragma "nounroll";
	setp.lt.s64 	%p4, %rd96, 1;
	@%p4 bra 	$L__BB2_7;
	add.s64 	%rd132, %rd313, %rd37;
	mov.u32 	%r7, 0;
	st.global.u32 	[%rd132], %r7;
$L__BB2_7:
	setp.lt.s64 	%p5, %rd96, 2;
	@%p5 bra 	$L__BB2_9;
	add.s64 	%rd133, %rd313, %rd36;
	mov.u32 	%r8, 0;
	st.global.u32 	[%rd133], %r8;
$L__BB2_9:
	setp.lt.s64 	%p6, %rd96, 3;
	@%p6 bra 	$L__BB2_11;
	add.s64 	%rd134, %rd313, %rd35;
	mov.u32 	%r9, 0;
	st.global.u32 	[%rd134], %r9;
$L__BB2_11:
	setp.lt.s64 	%p7, %rd96, 4;
	@%p7 bra 	$L__BB2_13;
	add.s64 	%rd135, %rd313, %rd34;
	mov.u32 	%r10, 0;
	st.global.u32 	[%rd135], %r10;
$L__BB2_13:
	setp.lt.s64 	%p8, %rd96, 5;
	@%p8 bra 	$L__BB2_15;
	add.s64 	%rd136, %rd313, %rd33;
	mov.u32 	%r11, 0;
	st.global.u32 	[%rd136], %r11;
$L__BB2_15:
	setp.lt.s64 	%p9, %rd96, 6;
	@%p9 bra 	$L__BB2_17;
	add.s64 	%rd137, %rd313, %rd32;
	mov.u32 	%r12, 0;
	st.global.u32 	[%rd137], %r12;
$L__BB2_17:
	setp.lt.s64 	%p10, %rd96, 7;
	@%p10 bra 	$L__BB2_19;
	add.s64 	%rd138, %rd313, %rd31;
	mov.u32 	%r13, 0;
	st.global.u32 	[%rd138], %r13;
$L__BB2_19:
	add.s64 	%rd313, %rd313, %rd20;
	add.s64 	%rd314, %rd314, %rd13;
	setp.lt.s64 	%p11, %rd314, %rd93;
	@%p11 bra 	$L__BB2_5;
$L__BB2_51:
	ld.param.u64 	%rd293, [block_lstm_sums_f32_param_0+56];
	add.s64 	%rd312, %rd312, %rd14;
	setp.lt.s64 	%p38, %rd312, %rd293;
	add.s64 	%rd311, %rd311, 1;
	@%p38 bra 	$L__BB2_2;
$L__BB2_52:
	ret;
}
	// .globl	block_lstm_finish_sums_f32
.visible .entry block_lstm_finish_sums_f32(
	.param .align 8 .b8 block_lstm_finish_sums_f32_param_0[64]
)
{
	.reg .pred 	%p<23>;
	.reg .f32 	%f<26>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<85>;
	ld.param.u64 	%rd50, [block_lstm_finish_sums_f32_param_0+56];
	ld.param.u64 	%rd49, [block_lstm_finish_sums_f32_param_0+48];
	ld.param.u64 	%rd48, [block_lstm_finish_sums_f32_param_0+40];
	ld.param.u64 	%rd47, [block_lstm_finish_sums_f32_param_0+32];
	ld.param.u64 	%rd46, [block_lstm_finish_sums_f32_param_0+24];
	ld.param.u64 	%rd45, [block_lstm_finish_sums_f32_param_0+16];
	ld.param.u64 	%rd44, [block_lstm_finish_sums_f32_param_0+8];
	ld.param.u64 	%rd43, [block_lstm_finish_sums_f32_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd75, %r1;
	setp.le.s64 	%p1, %rd50, %rd75;
	@%p1 bra 	$L__BB3_29;
	cvta.to.global.u64 	%rd9, %rd43;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd51, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd52, %r4;
	add.s64 	%rd10, %rd51, %rd52;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd11, %r5, %r3;
	mul.lo.s64 	%rd12, %rd48, %rd50;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd13, %r6;
	setp.gt.s64 	%p2, %rd49, 0;
	@%p2 bra 	$L__BB3_13;
	bra.uni 	$L__BB3_2;
$L__BB3_13:
	add.s64 	%rd23, %rd49, -1;
	and.b64  	%rd24, %rd49, 3;
	sub.s64 	%rd25, %rd24, %rd49;
	mul.lo.s64 	%rd58, %rd50, %rd48;
	shl.b64 	%rd26, %rd58, 2;
$L__BB3_14:
	.pragma "nounroll";
	setp.lt.u64 	%p11, %rd75, 4;
	mov.u64 	%rd80, %rd44;
	@%p11 bra 	$L__BB3_18;
	setp.eq.s64 	%p12, %rd75, 4;
	mov.u64 	%rd80, %rd45;
	@%p12 bra 	$L__BB3_18;
	setp.ne.s64 	%p13, %rd75, 5;
	mov.u64 	%rd80, %rd46;
	@%p13 bra 	$L__BB3_17;
	bra.uni 	$L__BB3_18;
$L__BB3_17:
	mov.u64 	%rd80, %rd47;
$L__BB3_18:
	setp.ge.s64 	%p14, %rd10, %rd48;
	@%p14 bra 	$L__BB3_28;
	cvta.to.global.u64 	%rd29, %rd80;
	mul.lo.s64 	%rd30, %rd75, %rd48;
	mov.u64 	%rd81, %rd10;
$L__BB3_20:
	.pragma "nounroll";
	add.s64 	%rd32, %rd81, %rd30;
	setp.lt.u64 	%p15, %rd23, 3;
	mov.f32 	%f25, 0f00000000;
	mov.u64 	%rd84, 0;
	@%p15 bra 	$L__BB3_23;
	shl.b64 	%rd61, %rd32, 2;
	add.s64 	%rd82, %rd9, %rd61;
	mov.f32 	%f25, 0f00000000;
	mov.u64 	%rd84, 0;
$L__BB3_22:
	ld.global.f32 	%f12, [%rd82];
	add.f32 	%f13, %f25, %f12;
	add.s64 	%rd62, %rd82, %rd26;
	ld.global.f32 	%f14, [%rd62];
	add.f32 	%f15, %f13, %f14;
	add.s64 	%rd63, %rd62, %rd26;
	ld.global.f32 	%f16, [%rd63];
	add.f32 	%f17, %f15, %f16;
	add.s64 	%rd64, %rd63, %rd26;
	add.s64 	%rd82, %rd64, %rd26;
	ld.global.f32 	%f18, [%rd64];
	add.f32 	%f25, %f17, %f18;
	add.s64 	%rd84, %rd84, 4;
	add.s64 	%rd65, %rd25, %rd84;
	setp.ne.s64 	%p16, %rd65, 0;
	@%p16 bra 	$L__BB3_22;
$L__BB3_23:
	setp.eq.s64 	%p17, %rd24, 0;
	@%p17 bra 	$L__BB3_27;
	setp.eq.s64 	%p18, %rd24, 1;
	mul.lo.s64 	%rd66, %rd12, %rd84;
	add.s64 	%rd67, %rd66, %rd32;
	shl.b64 	%rd68, %rd67, 2;
	add.s64 	%rd39, %rd9, %rd68;
	ld.global.f32 	%f19, [%rd39];
	add.f32 	%f25, %f25, %f19;
	@%p18 bra 	$L__BB3_27;
	setp.eq.s64 	%p19, %rd24, 2;
	shl.b64 	%rd69, %rd12, 2;
	add.s64 	%rd40, %rd39, %rd69;
	ld.global.f32 	%f20, [%rd40];
	add.f32 	%f25, %f25, %f20;
	@%p19 bra 	$L__BB3_27;
	add.s64 	%rd71, %rd40, %rd69;
	ld.global.f32 	%f21, [%rd71];
	add.f32 	%f25, %f25, %f21;
$L__BB3_27:
	selp.b64 	%rd72, %rd32, %rd81, %p11;
	shl.b64 	%rd73, %rd72, 2;
	add.s64 	%rd74, %rd29, %rd73;
	st.global.f32 	[%rd74], %f25;
	add.s64 	%rd81, %rd81, %rd11;
	setp.lt.s64 	%p21, %rd81, %rd48;
	@%p21 bra 	$L__BB3_20;
$L__BB3_28:
	add.s64 	%rd75, %rd75, %rd13;
	setp.lt.s64 	%p22, %rd75, %rd50;
	@%p22 bra 	$L__BB3_14;
	bra.uni 	$L__BB3_29;
$L__BB3_2:
	.pragma "nounroll";
	setp.lt.u64 	%p3, %rd75, 4;
	mov.u64 	%rd76, %rd44;
	@%p3 bra 	$L__BB3_6;
	setp.eq.s64 	%p4, %rd75, 4;
	mov.u64 	%rd76, %rd45;
	@%p4 bra 	$L__BB3_6;
	setp.ne.s64 	%p5, %rd75, 5;
	mov.u64 	%rd76, %rd46;
	@%p5 bra 	$L__BB3_5;
	bra.uni 	$L__BB3_6;
$L__BB3_5:
	mov.u64 	%rd76, %rd47;
$L__BB3_6:
	setp.ge.s64 	%p6, %rd10, %rd48;
	@%p6 bra 	$L__BB3_12;
	cvta.to.global.u64 	%rd16, %rd76;
	@%p3 bra 	$L__BB3_10;
	bra.uni 	$L__BB3_8;
$L__BB3_10:
	mul.lo.s64 	%rd19, %rd75, %rd48;
	mov.u64 	%rd78, %rd10;
$L__BB3_11:
	.pragma "nounroll";
	add.s64 	%rd55, %rd78, %rd19;
	shl.b64 	%rd56, %rd55, 2;
	add.s64 	%rd57, %rd16, %rd56;
	mov.u32 	%r8, 0;
	st.global.u32 	[%rd57], %r8;
	add.s64 	%rd78, %rd78, %rd11;
	setp.lt.s64 	%p9, %rd78, %rd48;
	@%p9 bra 	$L__BB3_11;
	bra.uni 	$L__BB3_12;
$L__BB3_8:
	mov.u64 	%rd77, %rd10;
$L__BB3_9:
	.pragma "nounroll";
	shl.b64 	%rd53, %rd77, 2;
	add.s64 	%rd54, %rd16, %rd53;
	mov.u32 	%r7, 0;
	st.global.u32 	[%rd54], %r7;
	add.s64 	%rd77, %rd77, %rd11;
	setp.lt.s64 	%p8, %rd77, %rd48;
	@%p8 bra 	$L__BB3_9;
$L__BB3_12:
	add.s64 	%rd75, %rd75, %rd13;
	setp.lt.s64 	%p10, %rd75, %rd50;
	@%p10 bra 	$L__BB3_2;
$L__BB3_29:
	ret;
}
	// .globl	block_lstm_forward_f64
.visible .entry block_lstm_forward_f64(
	.param .align 8 .b8 block_lstm_forward_f64_param_0[136]
)
{
	.reg .pred 	%p<24>;
	.reg .f32 	%f<16>;
	.reg .b32 	%r<70>;
	.reg .f64 	%fd<307>;
	.reg .b64 	%rd<161>;
	mov.b64 	%rd45, block_lstm_forward_f64_param_0;
	add.s64 	%rd1, %rd45, 120;
	ld.param.u64 	%rd2, [block_lstm_forward_f64_param_0+120];
	mov.u32 	%r14, %ctaid.y;
	cvt.u64.u32 	%rd158, %r14;
	ld.param.u64 	%rd4, [block_lstm_forward_f64_param_0+112];
	setp.le.s64 	%p1, %rd4, %rd158;
	@%p1 bra 	$L__BB4_27;
	mov.u32 	%r15, %ctaid.x;
	mov.u32 	%r16, %ntid.x;
	mul.wide.u32 	%rd49, %r15, %r16;
	mov.u32 	%r17, %tid.x;
	cvt.u64.u32 	%rd50, %r17;
	add.s64 	%rd5, %rd49, %rd50;
	ld.param.u64 	%rd53, [%rd1+-112];
	cvta.to.global.u64 	%rd54, %rd53;
	ld.param.u64 	%rd6, [%rd1+-104];
	cvta.to.global.u64 	%rd55, %rd6;
	ld.param.u64 	%rd56, [%rd1+-96];
	cvta.to.global.u64 	%rd57, %rd56;
	ld.param.f32 	%f1, [%rd1+8];
	cvt.f64.f32 	%fd1, %f1;
	neg.f64 	%fd2, %fd1;
	ld.param.u64 	%rd7, [%rd1+-88];
	cvta.to.global.u64 	%rd58, %rd7;
	mov.u32 	%r18, %nctaid.x;
	mul.wide.u32 	%rd8, %r18, %r16;
	ld.param.u64 	%rd9, [%rd1+-72];
	mov.u32 	%r19, %nctaid.y;
	cvt.u64.u32 	%rd10, %r19;
	mul.wide.u32 	%rd74, %r17, 8;
	add.s64 	%rd11, %rd58, %rd74;
	shl.b64 	%rd12, %rd49, 3;
	shl.b64 	%rd13, %rd8, 3;
	add.s64 	%rd14, %rd57, %rd74;
	add.s64 	%rd15, %rd55, %rd74;
	add.s64 	%rd16, %rd54, %rd74;
	shl.b64 	%rd18, %rd2, 3;
$L__BB4_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd5, %rd2;
	@%p2 bra 	$L__BB4_26;
	shl.b64 	%rd142, %rd2, 2;
	mov.u64 	%rd159, %rd12;
	mov.u64 	%rd160, %rd5;
$L__BB4_4:
	.pragma "nounroll";
	mov.u32 	%r69, %tid.x;
	mov.b64 	%rd157, block_lstm_forward_f64_param_0;
	add.s64 	%rd156, %rd157, 120;
	mul.wide.u32 	%rd155, %r69, 8;
	ld.param.u64 	%rd154, [%rd156+-120];
	cvta.to.global.u64 	%rd153, %rd154;
	mul.lo.s64 	%rd152, %rd142, %rd158;
	shl.b64 	%rd151, %rd152, 3;
	add.s64 	%rd150, %rd153, %rd155;
	add.s64 	%rd149, %rd150, %rd151;
	ld.param.u64 	%rd148, [%rd156+-80];
	cvta.to.global.u64 	%rd147, %rd148;
	mul.lo.s64 	%rd146, %rd2, %rd158;
	shl.b64 	%rd145, %rd146, 3;
	add.s64 	%rd144, %rd147, %rd155;
	add.s64 	%rd143, %rd144, %rd145;
	add.s64 	%rd80, %rd143, %rd159;
	ld.global.f64 	%fd3, [%rd80];
	add.s64 	%rd81, %rd149, %rd159;
	add.s64 	%rd82, %rd16, %rd159;
	ld.global.f64 	%fd37, [%rd82];
	ld.global.f64 	%fd38, [%rd81];
	add.f64 	%fd299, %fd38, %fd37;
	add.s64 	%rd83, %rd81, %rd18;
	add.s64 	%rd84, %rd82, %rd18;
	ld.global.f64 	%fd39, [%rd84];
	ld.global.f64 	%fd40, [%rd83];
	add.f64 	%fd300, %fd40, %fd39;
	add.s64 	%rd85, %rd83, %rd18;
	add.s64 	%rd86, %rd84, %rd18;
	ld.global.f64 	%fd41, [%rd86];
	ld.global.f64 	%fd42, [%rd85];
	add.f64 	%fd6, %fd42, %fd41;
	add.s64 	%rd87, %rd85, %rd18;
	add.s64 	%rd88, %rd86, %rd18;
	ld.global.f64 	%fd43, [%rd88];
	ld.global.f64 	%fd44, [%rd87];
	add.f64 	%fd304, %fd44, %fd43;
	setp.eq.s64 	%p3, %rd6, 0;
	@%p3 bra 	$L__BB4_6;
	add.s64 	%rd89, %rd15, %rd159;
	ld.global.f64 	%fd45, [%rd89];
	fma.rn.f64 	%fd299, %fd3, %fd45, %fd299;
	add.s64 	%rd90, %rd14, %rd159;
	ld.global.f64 	%fd46, [%rd90];
	fma.rn.f64 	%fd300, %fd3, %fd46, %fd300;
$L__BB4_6:
	neg.f64 	%fd47, %fd299;
	mov.f64 	%fd48, 0d4338000000000000;
	mov.f64 	%fd49, 0d3FF71547652B82FE;
	fma.rn.f64 	%fd50, %fd47, %fd49, %fd48;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r1, %temp}, %fd50;
	}
	mov.f64 	%fd51, 0dC338000000000000;
	add.rn.f64 	%fd52, %fd50, %fd51;
	mov.f64 	%fd53, 0dBFE62E42FEFA39EF;
	fma.rn.f64 	%fd54, %fd52, %fd53, %fd47;
	mov.f64 	%fd55, 0dBC7ABC9E3B39803F;
	fma.rn.f64 	%fd56, %fd52, %fd55, %fd54;
	mov.f64 	%fd57, 0d3E928AF3FCA213EA;
	mov.f64 	%fd58, 0d3E5ADE1569CE2BDF;
	fma.rn.f64 	%fd59, %fd58, %fd56, %fd57;
	mov.f64 	%fd60, 0d3EC71DEE62401315;
	fma.rn.f64 	%fd61, %fd59, %fd56, %fd60;
	mov.f64 	%fd62, 0d3EFA01997C89EB71;
	fma.rn.f64 	%fd63, %fd61, %fd56, %fd62;
	mov.f64 	%fd64, 0d3F2A01A014761F65;
	fma.rn.f64 	%fd65, %fd63, %fd56, %fd64;
	mov.f64 	%fd66, 0d3F56C16C1852B7AF;
	fma.rn.f64 	%fd67, %fd65, %fd56, %fd66;
	mov.f64 	%fd68, 0d3F81111111122322;
	fma.rn.f64 	%fd69, %fd67, %fd56, %fd68;
	mov.f64 	%fd70, 0d3FA55555555502A1;
	fma.rn.f64 	%fd71, %fd69, %fd56, %fd70;
	mov.f64 	%fd72, 0d3FC5555555555511;
	fma.rn.f64 	%fd73, %fd71, %fd56, %fd72;
	mov.f64 	%fd74, 0d3FE000000000000B;
	fma.rn.f64 	%fd75, %fd73, %fd56, %fd74;
	mov.f64 	%fd76, 0d3FF0000000000000;
	fma.rn.f64 	%fd77, %fd75, %fd56, %fd76;
	fma.rn.f64 	%fd78, %fd77, %fd56, %fd76;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r2, %temp}, %fd78;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r3}, %fd78;
	}
	shl.b32 	%r20, %r1, 20;
	add.s32 	%r21, %r3, %r20;
	mov.b64 	%fd301, {%r2, %r21};
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r22}, %fd47;
	}
	mov.b32 	%f5, %r22;
	abs.f32 	%f2, %f5;
	setp.lt.f32 	%p4, %f2, 0f4086232B;
	@%p4 bra 	$L__BB4_9;
	setp.gt.f64 	%p5, %fd299, 0d8000000000000000;
	mov.f64 	%fd79, 0d7FF0000000000000;
	sub.f64 	%fd80, %fd79, %fd299;
	selp.f64 	%fd301, 0d0000000000000000, %fd80, %p5;
	setp.geu.f32 	%p6, %f2, 0f40874800;
	@%p6 bra 	$L__BB4_9;
	mov.f64 	%fd298, 0d4338000000000000;
	mov.f64 	%fd297, 0d3FF71547652B82FE;
	neg.f64 	%fd296, %fd299;
	fma.rn.f64 	%fd295, %fd296, %fd297, %fd298;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r66, %temp}, %fd295;
	}
	shr.u32 	%r23, %r66, 31;
	add.s32 	%r24, %r66, %r23;
	shr.s32 	%r25, %r24, 1;
	shl.b32 	%r26, %r25, 20;
	add.s32 	%r27, %r3, %r26;
	mov.b64 	%fd81, {%r2, %r27};
	sub.s32 	%r28, %r66, %r25;
	shl.b32 	%r29, %r28, 20;
	add.s32 	%r30, %r29, 1072693248;
	mov.u32 	%r31, 0;
	mov.b64 	%fd82, {%r31, %r30};
	mul.f64 	%fd301, %fd81, %fd82;
$L__BB4_9:
	add.f64 	%fd83, %fd301, 0d3FF0000000000000;
	rcp.rn.f64 	%fd16, %fd83;
	neg.f64 	%fd85, %fd300;
	fma.rn.f64 	%fd88, %fd85, %fd49, %fd48;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r4, %temp}, %fd88;
	}
	add.rn.f64 	%fd90, %fd88, %fd51;
	fma.rn.f64 	%fd92, %fd90, %fd53, %fd85;
	fma.rn.f64 	%fd94, %fd90, %fd55, %fd92;
	fma.rn.f64 	%fd97, %fd58, %fd94, %fd57;
	fma.rn.f64 	%fd99, %fd97, %fd94, %fd60;
	fma.rn.f64 	%fd101, %fd99, %fd94, %fd62;
	fma.rn.f64 	%fd103, %fd101, %fd94, %fd64;
	fma.rn.f64 	%fd105, %fd103, %fd94, %fd66;
	fma.rn.f64 	%fd107, %fd105, %fd94, %fd68;
	fma.rn.f64 	%fd109, %fd107, %fd94, %fd70;
	fma.rn.f64 	%fd111, %fd109, %fd94, %fd72;
	fma.rn.f64 	%fd113, %fd111, %fd94, %fd74;
	fma.rn.f64 	%fd114, %fd113, %fd94, %fd76;
	fma.rn.f64 	%fd115, %fd114, %fd94, %fd76;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r5, %temp}, %fd115;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r6}, %fd115;
	}
	shl.b32 	%r32, %r4, 20;
	add.s32 	%r33, %r6, %r32;
	mov.b64 	%fd302, {%r5, %r33};
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r34}, %fd85;
	}
	mov.b32 	%f6, %r34;
	abs.f32 	%f3, %f6;
	setp.lt.f32 	%p7, %f3, 0f4086232B;
	@%p7 bra 	$L__BB4_12;
	setp.gt.f64 	%p8, %fd300, 0d8000000000000000;
	mov.f64 	%fd116, 0d7FF0000000000000;
	sub.f64 	%fd117, %fd116, %fd300;
	selp.f64 	%fd302, 0d0000000000000000, %fd117, %p8;
	setp.geu.f32 	%p9, %f3, 0f40874800;
	@%p9 bra 	$L__BB4_12;
	shr.u32 	%r35, %r4, 31;
	add.s32 	%r36, %r4, %r35;
	shr.s32 	%r37, %r36, 1;
	shl.b32 	%r38, %r37, 20;
	add.s32 	%r39, %r6, %r38;
	mov.b64 	%fd118, {%r5, %r39};
	sub.s32 	%r40, %r4, %r37;
	shl.b32 	%r41, %r40, 20;
	add.s32 	%r42, %r41, 1072693248;
	mov.u32 	%r43, 0;
	mov.b64 	%fd119, {%r43, %r42};
	mul.f64 	%fd302, %fd118, %fd119;
$L__BB4_12:
	add.f64 	%fd120, %fd302, 0d3FF0000000000000;
	rcp.rn.f64 	%fd21, %fd120;
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r7}, %fd6;
	}
	and.b32  	%r8, %r7, 2147483647;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r44, %temp}, %fd6;
	}
	mov.b64 	%fd22, {%r44, %r8};
	setp.ltu.f64 	%p10, %fd22, 0d3FE4F92224DD2F1A;
	@%p10 bra 	$L__BB4_14;
	bra.uni 	$L__BB4_13;
$L__BB4_14:
	mul.f64 	%fd162, %fd6, %fd6;
	mov.f64 	%fd163, 0d3F14359F420AFC3D;
	mov.f64 	%fd164, 0dBEF0BC46E2F5E964;
	fma.rn.f64 	%fd165, %fd164, %fd162, %fd163;
	mov.f64 	%fd166, 0dBF2DF9F0728C5D84;
	fma.rn.f64 	%fd167, %fd165, %fd162, %fd166;
	mov.f64 	%fd168, 0d3F4337D1CEC4F033;
	fma.rn.f64 	%fd169, %fd167, %fd162, %fd168;
	mov.f64 	%fd170, 0dBF57D6E9674335B3;
	fma.rn.f64 	%fd171, %fd169, %fd162, %fd170;
	mov.f64 	%fd172, 0d3F6D6D000D7AAD3D;
	fma.rn.f64 	%fd173, %fd171, %fd162, %fd172;
	mov.f64 	%fd174, 0dBF8226E1F3CF1EF5;
	fma.rn.f64 	%fd175, %fd173, %fd162, %fd174;
	mov.f64 	%fd176, 0d3F9664F47EC0C8CF;
	fma.rn.f64 	%fd177, %fd175, %fd162, %fd176;
	mov.f64 	%fd178, 0dBFABA1BA1B80AB40;
	fma.rn.f64 	%fd179, %fd177, %fd162, %fd178;
	mov.f64 	%fd180, 0d3FC111111110FA4A;
	fma.rn.f64 	%fd181, %fd179, %fd162, %fd180;
	mov.f64 	%fd182, 0dBFD5555555555550;
	fma.rn.f64 	%fd183, %fd181, %fd162, %fd182;
	mov.f64 	%fd184, 0d0000000000000000;
	fma.rn.f64 	%fd185, %fd183, %fd162, %fd184;
	fma.rn.f64 	%fd303, %fd185, %fd6, %fd6;
	bra.uni 	$L__BB4_15;
$L__BB4_13:
	add.f64 	%fd121, %fd22, %fd22;
	mov.f64 	%fd122, 0d4000000000000000;
	cvt.rn.f32.f64 	%f7, %fd121;
	mul.f32 	%f8, %f7, 0f3FB8AA3B;
	cvt.rni.f32.f32 	%f9, %f8;
	cvt.f64.f32 	%fd123, %f9;
	neg.f64 	%fd124, %fd123;
	mov.f64 	%fd125, 0d3FE62E42FEFA39EF;
	fma.rn.f64 	%fd126, %fd124, %fd125, %fd121;
	mov.f64 	%fd127, 0d3E928A27F89B6999;
	mov.f64 	%fd128, 0d3E5AE904A4741B81;
	fma.rn.f64 	%fd129, %fd128, %fd126, %fd127;
	mov.f64 	%fd130, 0d3EC71DE715FF7E07;
	fma.rn.f64 	%fd131, %fd129, %fd126, %fd130;
	mov.f64 	%fd132, 0d3EFA019A6B0AC45A;
	fma.rn.f64 	%fd133, %fd131, %fd126, %fd132;
	mov.f64 	%fd134, 0d3F2A01A017EED94F;
	fma.rn.f64 	%fd135, %fd133, %fd126, %fd134;
	mov.f64 	%fd136, 0d3F56C16C17F2A71B;
	fma.rn.f64 	%fd137, %fd135, %fd126, %fd136;
	mov.f64 	%fd138, 0d3F811111111173C4;
	fma.rn.f64 	%fd139, %fd137, %fd126, %fd138;
	mov.f64 	%fd140, 0d3FA555555555211A;
	fma.rn.f64 	%fd141, %fd139, %fd126, %fd140;
	mov.f64 	%fd142, 0d3FC5555555555540;
	fma.rn.f64 	%fd143, %fd141, %fd126, %fd142;
	mov.f64 	%fd144, 0d3FE0000000000005;
	fma.rn.f64 	%fd145, %fd143, %fd126, %fd144;
	mul.f64 	%fd146, %fd126, %fd145;
	fma.rn.f64 	%fd147, %fd146, %fd126, %fd126;
	ex2.approx.ftz.f32 	%f10, %f9;
	cvt.f64.f32 	%fd148, %f10;
	mov.f64 	%fd149, 0d3FF0000000000000;
	sub.f64 	%fd150, %fd149, %fd148;
	neg.f64 	%fd151, %fd147;
	fma.rn.f64 	%fd152, %fd151, %fd148, %fd150;
	sub.f64 	%fd153, %fd122, %fd152;
	rcp.approx.ftz.f64 	%fd154, %fd153;
	neg.f64 	%fd155, %fd153;
	fma.rn.f64 	%fd156, %fd155, %fd154, %fd149;
	fma.rn.f64 	%fd157, %fd156, %fd156, %fd156;
	fma.rn.f64 	%fd158, %fd157, %fd154, %fd154;
	neg.f64 	%fd159, %fd158;
	fma.rn.f64 	%fd160, %fd122, %fd159, %fd149;
	setp.gt.u32 	%p11, %r8, 1077088193;
	selp.f64 	%fd161, 0d3FF0000000000000, %fd160, %p11;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r45, %temp}, %fd161;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r46}, %fd161;
	}
	and.b32  	%r47, %r7, -2147483648;
	or.b32  	%r48, %r46, %r47;
	mov.b64 	%fd303, {%r45, %r48};
$L__BB4_15:
	mul.f64 	%fd186, %fd16, %fd303;
	fma.rn.f64 	%fd187, %fd3, %fd21, %fd186;
	setp.gt.f64 	%p12, %fd187, %fd1;
	setp.lt.f64 	%p13, %fd187, %fd2;
	selp.f64 	%fd188, %fd2, %fd187, %p13;
	selp.f64 	%fd189, %fd1, %fd188, %p12;
	setp.gt.f32 	%p14, %f1, 0f00000000;
	selp.f64 	%fd26, %fd189, %fd187, %p14;
	setp.eq.s64 	%p15, %rd7, 0;
	@%p15 bra 	$L__BB4_17;
	add.s64 	%rd91, %rd11, %rd159;
	ld.global.f64 	%fd190, [%rd91];
	fma.rn.f64 	%fd304, %fd26, %fd190, %fd304;
$L__BB4_17:
	neg.f64 	%fd191, %fd304;
	mov.f64 	%fd192, 0d4338000000000000;
	mov.f64 	%fd193, 0d3FF71547652B82FE;
	fma.rn.f64 	%fd194, %fd191, %fd193, %fd192;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r9, %temp}, %fd194;
	}
	mov.f64 	%fd195, 0dC338000000000000;
	add.rn.f64 	%fd196, %fd194, %fd195;
	mov.f64 	%fd197, 0dBFE62E42FEFA39EF;
	fma.rn.f64 	%fd198, %fd196, %fd197, %fd191;
	mov.f64 	%fd199, 0dBC7ABC9E3B39803F;
	fma.rn.f64 	%fd200, %fd196, %fd199, %fd198;
	mov.f64 	%fd201, 0d3E928AF3FCA213EA;
	mov.f64 	%fd202, 0d3E5ADE1569CE2BDF;
	fma.rn.f64 	%fd203, %fd202, %fd200, %fd201;
	mov.f64 	%fd204, 0d3EC71DEE62401315;
	fma.rn.f64 	%fd205, %fd203, %fd200, %fd204;
	mov.f64 	%fd206, 0d3EFA01997C89EB71;
	fma.rn.f64 	%fd207, %fd205, %fd200, %fd206;
	mov.f64 	%fd208, 0d3F2A01A014761F65;
	fma.rn.f64 	%fd209, %fd207, %fd200, %fd208;
	mov.f64 	%fd210, 0d3F56C16C1852B7AF;
	fma.rn.f64 	%fd211, %fd209, %fd200, %fd210;
	mov.f64 	%fd212, 0d3F81111111122322;
	fma.rn.f64 	%fd213, %fd211, %fd200, %fd212;
	mov.f64 	%fd214, 0d3FA55555555502A1;
	fma.rn.f64 	%fd215, %fd213, %fd200, %fd214;
	mov.f64 	%fd216, 0d3FC5555555555511;
	fma.rn.f64 	%fd217, %fd215, %fd200, %fd216;
	mov.f64 	%fd218, 0d3FE000000000000B;
	fma.rn.f64 	%fd219, %fd217, %fd200, %fd218;
	mov.f64 	%fd220, 0d3FF0000000000000;
	fma.rn.f64 	%fd221, %fd219, %fd200, %fd220;
	fma.rn.f64 	%fd222, %fd221, %fd200, %fd220;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r10, %temp}, %fd222;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r11}, %fd222;
	}
	shl.b32 	%r49, %r9, 20;
	add.s32 	%r50, %r11, %r49;
	mov.b64 	%fd305, {%r10, %r50};
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r51}, %fd191;
	}
	mov.b32 	%f11, %r51;
	abs.f32 	%f4, %f11;
	setp.lt.f32 	%p16, %f4, 0f4086232B;
	@%p16 bra 	$L__BB4_20;
	setp.gt.f64 	%p17, %fd304, 0d8000000000000000;
	mov.f64 	%fd223, 0d7FF0000000000000;
	sub.f64 	%fd224, %fd223, %fd304;
	selp.f64 	%fd305, 0d0000000000000000, %fd224, %p17;
	setp.geu.f32 	%p18, %f4, 0f40874800;
	@%p18 bra 	$L__BB4_20;
	shr.u32 	%r52, %r9, 31;
	add.s32 	%r53, %r9, %r52;
	shr.s32 	%r54, %r53, 1;
	shl.b32 	%r55, %r54, 20;
	add.s32 	%r56, %r11, %r55;
	mov.b64 	%fd225, {%r10, %r56};
	sub.s32 	%r57, %r9, %r54;
	shl.b32 	%r58, %r57, 20;
	add.s32 	%r59, %r58, 1072693248;
	mov.u32 	%r60, 0;
	mov.b64 	%fd226, {%r60, %r59};
	mul.f64 	%fd305, %fd225, %fd226;
$L__BB4_20:
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r12}, %fd26;
	}
	and.b32  	%r13, %r12, 2147483647;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r61, %temp}, %fd26;
	}
	mov.b64 	%fd33, {%r61, %r13};
	setp.ltu.f64 	%p19, %fd33, 0d3FE4F92224DD2F1A;
	@%p19 bra 	$L__BB4_22;
	bra.uni 	$L__BB4_21;
$L__BB4_22:
	mul.f64 	%fd268, %fd26, %fd26;
	mov.f64 	%fd269, 0d3F14359F420AFC3D;
	mov.f64 	%fd270, 0dBEF0BC46E2F5E964;
	fma.rn.f64 	%fd271, %fd270, %fd268, %fd269;
	mov.f64 	%fd272, 0dBF2DF9F0728C5D84;
	fma.rn.f64 	%fd273, %fd271, %fd268, %fd272;
	mov.f64 	%fd274, 0d3F4337D1CEC4F033;
	fma.rn.f64 	%fd275, %fd273, %fd268, %fd274;
	mov.f64 	%fd276, 0dBF57D6E9674335B3;
	fma.rn.f64 	%fd277, %fd275, %fd268, %fd276;
	mov.f64 	%fd278, 0d3F6D6D000D7AAD3D;
	fma.rn.f64 	%fd279, %fd277, %fd268, %fd278;
	mov.f64 	%fd280, 0dBF8226E1F3CF1EF5;
	fma.rn.f64 	%fd281, %fd279, %fd268, %fd280;
	mov.f64 	%fd282, 0d3F9664F47EC0C8CF;
	fma.rn.f64 	%fd283, %fd281, %fd268, %fd282;
	mov.f64 	%fd284, 0dBFABA1BA1B80AB40;
	fma.rn.f64 	%fd285, %fd283, %fd268, %fd284;
	mov.f64 	%fd286, 0d3FC111111110FA4A;
	fma.rn.f64 	%fd287, %fd285, %fd268, %fd286;
	mov.f64 	%fd288, 0dBFD5555555555550;
	fma.rn.f64 	%fd289, %fd287, %fd268, %fd288;
	mov.f64 	%fd290, 0d0000000000000000;
	fma.rn.f64 	%fd291, %fd289, %fd268, %fd290;
	fma.rn.f64 	%fd306, %fd291, %fd26, %fd26;
	bra.uni 	$L__BB4_23;
$L__BB4_21:
	add.f64 	%fd227, %fd33, %fd33;
	mov.f64 	%fd228, 0d4000000000000000;
	cvt.rn.f32.f64 	%f12, %fd227;
	mul.f32 	%f13, %f12, 0f3FB8AA3B;
	cvt.rni.f32.f32 	%f14, %f13;
	cvt.f64.f32 	%fd229, %f14;
	neg.f64 	%fd230, %fd229;
	mov.f64 	%fd231, 0d3FE62E42FEFA39EF;
	fma.rn.f64 	%fd232, %fd230, %fd231, %fd227;
	mov.f64 	%fd233, 0d3E928A27F89B6999;
	mov.f64 	%fd234, 0d3E5AE904A4741B81;
	fma.rn.f64 	%fd235, %fd234, %fd232, %fd233;
	mov.f64 	%fd236, 0d3EC71DE715FF7E07;
	fma.rn.f64 	%fd237, %fd235, %fd232, %fd236;
	mov.f64 	%fd238, 0d3EFA019A6B0AC45A;
	fma.rn.f64 	%fd239, %fd237, %fd232, %fd238;
	mov.f64 	%fd240, 0d3F2A01A017EED94F;
	fma.rn.f64 	%fd241, %fd239, %fd232, %fd240;
	mov.f64 	%fd242, 0d3F56C16C17F2A71B;
	fma.rn.f64 	%fd243, %fd241, %fd232, %fd242;
	mov.f64 	%fd244, 0d3F811111111173C4;
	fma.rn.f64 	%fd245, %fd243, %fd232, %fd244;
	mov.f64 	%fd246, 0d3FA555555555211A;
	fma.rn.f64 	%fd247, %fd245, %fd232, %fd246;
	mov.f64 	%fd248, 0d3FC5555555555540;
	fma.rn.f64 	%fd249, %fd247, %fd232, %fd248;
	mov.f64 	%fd250, 0d3FE0000000000005;
	fma.rn.f64 	%fd251, %fd249, %fd232, %fd250;
	mul.f64 	%fd252, %fd232, %fd251;
	fma.rn.f64 	%fd253, %fd252, %fd232, %fd232;
	ex2.approx.ftz.f32 	%f15, %f14;
	cvt.f64.f32 	%fd254, %f15;
	mov.f64 	%fd255, 0d3FF0000000000000;
	sub.f64 	%fd256, %fd255, %fd254;
	neg.f64 	%fd257, %fd253;
	fma.rn.f64 	%fd258, %fd257, %fd254, %fd256;
	sub.f64 	%fd259, %fd228, %fd258;
	rcp.approx.ftz.f64 	%fd260, %fd259;
	neg.f64 	%fd261, %fd259;
	fma.rn.f64 	%fd262, %fd261, %fd260, %fd255;
	fma.rn.f64 	%fd263, %fd262, %fd262, %fd262;
	fma.rn.f64 	%fd264, %fd263, %fd260, %fd260;
	neg.f64 	%fd265, %fd264;
	fma.rn.f64 	%fd266, %fd228, %fd265, %fd255;
	setp.gt.u32 	%p20, %r13, 1077088193;
	selp.f64 	%fd267, 0d3FF0000000000000, %fd266, %p20;
	{
	.reg .b32 %temp; 
	mov.b64 	{%r62, %temp}, %fd267;
	}
	{
	.reg .b32 %temp; 
	mov.b64 	{%temp, %r63}, %fd267;
	}
	and.b32  	%r64, %r12, -2147483648;
	or.b32  	%r65, %r63, %r64;
	mov.b64 	%fd306, {%r62, %r65};
$L__BB4_23:
	mov.b64 	%rd132, block_lstm_forward_f64_param_0;
	add.s64 	%rd131, %rd132, 120;
	mul.lo.s64 	%rd130, %rd2, %rd158;
	mov.u32 	%r67, %tid.x;
	mul.wide.u32 	%rd129, %r67, 8;
	shl.b64 	%rd128, %rd130, 3;
	ld.param.u64 	%rd127, [%rd131+-16];
	cvta.to.global.u64 	%rd126, %rd127;
	add.s64 	%rd125, %rd126, %rd129;
	add.s64 	%rd124, %rd125, %rd128;
	ld.param.u64 	%rd123, [%rd131+-24];
	cvta.to.global.u64 	%rd122, %rd123;
	add.s64 	%rd121, %rd122, %rd129;
	add.s64 	%rd120, %rd121, %rd128;
	ld.param.u64 	%rd119, [%rd131+-32];
	cvta.to.global.u64 	%rd118, %rd119;
	add.s64 	%rd117, %rd118, %rd129;
	add.s64 	%rd116, %rd117, %rd128;
	ld.param.u64 	%rd115, [%rd131+-40];
	cvta.to.global.u64 	%rd114, %rd115;
	add.s64 	%rd113, %rd114, %rd129;
	add.s64 	%rd112, %rd113, %rd128;
	ld.param.u64 	%rd111, [%rd131+-48];
	cvta.to.global.u64 	%rd110, %rd111;
	add.s64 	%rd109, %rd110, %rd129;
	add.s64 	%rd108, %rd109, %rd128;
	ld.param.u64 	%rd107, [%rd131+-56];
	cvta.to.global.u64 	%rd106, %rd107;
	add.s64 	%rd105, %rd106, %rd129;
	add.s64 	%rd104, %rd105, %rd128;
	ld.param.u64 	%rd103, [%rd131+-64];
	cvta.to.global.u64 	%rd102, %rd103;
	add.s64 	%rd101, %rd102, %rd129;
	add.s64 	%rd100, %rd101, %rd128;
	add.f64 	%fd292, %fd305, 0d3FF0000000000000;
	rcp.rn.f64 	%fd293, %fd292;
	add.s64 	%rd92, %rd100, %rd159;
	st.global.f64 	[%rd92], %fd16;
	add.s64 	%rd93, %rd104, %rd159;
	st.global.f64 	[%rd93], %fd26;
	add.s64 	%rd94, %rd108, %rd159;
	st.global.f64 	[%rd94], %fd21;
	add.s64 	%rd95, %rd112, %rd159;
	st.global.f64 	[%rd95], %fd293;
	add.s64 	%rd96, %rd116, %rd159;
	st.global.f64 	[%rd96], %fd303;
	add.s64 	%rd97, %rd120, %rd159;
	st.global.f64 	[%rd97], %fd306;
	add.s64 	%rd98, %rd124, %rd159;
	mul.f64 	%fd294, %fd293, %fd306;
	st.global.f64 	[%rd98], %fd294;
	setp.eq.s64 	%p21, %rd9, 0;
	@%p21 bra 	$L__BB4_25;
	mov.b64 	%rd140, block_lstm_forward_f64_param_0;
	add.s64 	%rd139, %rd140, 120;
	ld.param.u64 	%rd138, [%rd139+-72];
	mov.u32 	%r68, %tid.x;
	mul.wide.u32 	%rd137, %r68, 8;
	cvta.to.global.u64 	%rd136, %rd138;
	mul.lo.s64 	%rd135, %rd18, %rd158;
	add.s64 	%rd134, %rd136, %rd137;
	add.s64 	%rd133, %rd134, %rd135;
	add.s64 	%rd99, %rd133, %rd159;
	st.global.f64 	[%rd99], %fd26;
$L__BB4_25:
	add.s64 	%rd160, %rd160, %rd8;
	add.s64 	%rd159, %rd159, %rd13;
	setp.lt.s64 	%p22, %rd160, %rd2;
	@%p22 bra 	$L__BB4_4;
$L__BB4_26:
	ld.param.u64 	%rd141, [block_lstm_forward_f64_param_0+112];
	add.s64 	%rd158, %rd158, %rd10;
	setp.lt.s64 	%p23, %rd158, %rd141;
	@%p23 bra 	$L__BB4_2;
$L__BB4_27:
	ret;
}
	// .globl	block_lstm_backward_f64
.visible .entry block_lstm_backward_f64(
	.param .align 8 .b8 block_lstm_backward_f64_param_0[136]
)
{
	.reg .pred 	%p<13>;
	.reg .b32 	%r<7>;
	.reg .f64 	%fd<97>;
	.reg .b64 	%rd<140>;
	mov.b64 	%rd68, block_lstm_backward_f64_param_0;
	add.s64 	%rd1, %rd68, 128;
	ld.param.u64 	%rd2, [block_lstm_backward_f64_param_0+128];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd136, %r1;
	ld.param.u64 	%rd4, [block_lstm_backward_f64_param_0+120];
	setp.le.s64 	%p1, %rd4, %rd136;
	@%p1 bra 	$L__BB5_21;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd70, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd71, %r4;
	add.s64 	%rd5, %rd70, %rd71;
	ld.param.u64 	%rd72, [%rd1+-128];
	cvta.to.global.u64 	%rd6, %rd72;
	ld.param.u64 	%rd73, [%rd1+-120];
	cvta.to.global.u64 	%rd7, %rd73;
	ld.param.u64 	%rd74, [%rd1+-112];
	cvta.to.global.u64 	%rd8, %rd74;
	ld.param.u64 	%rd75, [%rd1+-104];
	cvta.to.global.u64 	%rd9, %rd75;
	ld.param.u64 	%rd76, [%rd1+-96];
	cvta.to.global.u64 	%rd10, %rd76;
	ld.param.u64 	%rd77, [%rd1+-72];
	cvta.to.global.u64 	%rd11, %rd77;
	ld.param.u64 	%rd78, [%rd1+-80];
	cvta.to.global.u64 	%rd12, %rd78;
	ld.param.u64 	%rd13, [%rd1+-32];
	ld.param.u64 	%rd14, [%rd1+-40];
	cvta.to.global.u64 	%rd79, %rd14;
	ld.param.u64 	%rd15, [%rd1+-48];
	cvta.to.global.u64 	%rd16, %rd13;
	ld.param.u64 	%rd80, [%rd1+-88];
	cvta.to.global.u64 	%rd17, %rd80;
	ld.param.u64 	%rd18, [%rd1+-64];
	cvta.to.global.u64 	%rd19, %rd15;
	ld.param.u64 	%rd81, [%rd1+-16];
	cvta.to.global.u64 	%rd21, %rd81;
	ld.param.u64 	%rd82, [%rd1+-24];
	cvta.to.global.u64 	%rd22, %rd82;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd23, %r5, %r3;
	cvta.to.global.u64 	%rd24, %rd18;
	ld.param.u64 	%rd83, [%rd1+-56];
	cvta.to.global.u64 	%rd25, %rd83;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd26, %r6;
	mul.wide.u32 	%rd84, %r4, 8;
	add.s64 	%rd27, %rd25, %rd84;
	shl.b64 	%rd28, %rd70, 3;
	shl.b64 	%rd29, %rd23, 3;
	add.s64 	%rd30, %rd24, %rd84;
	add.s64 	%rd31, %rd19, %rd84;
	add.s64 	%rd32, %rd22, %rd84;
	add.s64 	%rd33, %rd17, %rd84;
	add.s64 	%rd34, %rd16, %rd84;
	add.s64 	%rd35, %rd79, %rd84;
	shl.b64 	%rd36, %rd2, 3;
	add.s64 	%rd37, %rd12, %rd84;
	add.s64 	%rd38, %rd11, %rd84;
	add.s64 	%rd39, %rd10, %rd84;
	add.s64 	%rd40, %rd9, %rd84;
	add.s64 	%rd41, %rd8, %rd84;
	add.s64 	%rd42, %rd7, %rd84;
	add.s64 	%rd43, %rd6, %rd84;
	add.s64 	%rd44, %rd21, %rd84;
$L__BB5_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd5, %rd2;
	@%p2 bra 	$L__BB5_20;
	shl.b64 	%rd132, %rd2, 2;
	setp.eq.s64 	%p3, %rd14, 0;
	mul.lo.s64 	%rd46, %rd136, %rd2;
	mul.lo.s64 	%rd47, %rd132, %rd136;
	@%p3 bra 	$L__BB5_12;
	shl.b64 	%rd85, %rd46, 3;
	add.s64 	%rd48, %rd32, %rd85;
	add.s64 	%rd49, %rd33, %rd85;
	add.s64 	%rd50, %rd34, %rd85;
	mul.lo.s64 	%rd86, %rd36, %rd136;
	add.s64 	%rd51, %rd35, %rd86;
	add.s64 	%rd52, %rd37, %rd85;
	add.s64 	%rd53, %rd38, %rd85;
	add.s64 	%rd54, %rd39, %rd85;
	add.s64 	%rd55, %rd40, %rd85;
	add.s64 	%rd56, %rd41, %rd85;
	add.s64 	%rd57, %rd42, %rd85;
	add.s64 	%rd58, %rd43, %rd85;
	shl.b64 	%rd87, %rd47, 3;
	add.s64 	%rd59, %rd44, %rd87;
	mov.u64 	%rd137, %rd28;
	mov.u64 	%rd138, %rd5;
$L__BB5_5:
	.pragma "nounroll";
	add.s64 	%rd88, %rd58, %rd137;
	ld.global.f64 	%fd1, [%rd88];
	add.s64 	%rd89, %rd57, %rd137;
	ld.global.f64 	%fd2, [%rd89];
	add.s64 	%rd90, %rd56, %rd137;
	ld.global.f64 	%fd3, [%rd90];
	add.s64 	%rd91, %rd55, %rd137;
	ld.global.f64 	%fd4, [%rd91];
	add.s64 	%rd92, %rd54, %rd137;
	ld.global.f64 	%fd5, [%rd92];
	add.s64 	%rd93, %rd53, %rd137;
	add.s64 	%rd94, %rd52, %rd137;
	ld.global.f64 	%fd91, [%rd94];
	add.s64 	%rd95, %rd51, %rd137;
	ld.global.f64 	%fd37, [%rd95];
	ld.global.f64 	%fd38, [%rd93];
	add.f64 	%fd7, %fd38, %fd37;
	setp.eq.s64 	%p4, %rd13, 0;
	@%p4 bra 	$L__BB5_7;
	add.s64 	%rd96, %rd50, %rd137;
	ld.global.f64 	%fd39, [%rd96];
	add.f64 	%fd91, %fd91, %fd39;
$L__BB5_7:
	mov.f64 	%fd40, 0d3FF0000000000000;
	sub.f64 	%fd41, %fd40, %fd3;
	mul.f64 	%fd42, %fd3, %fd41;
	mul.f64 	%fd43, %fd5, %fd7;
	mul.f64 	%fd10, %fd42, %fd43;
	mul.f64 	%fd44, %fd5, %fd5;
	sub.f64 	%fd45, %fd40, %fd44;
	mul.f64 	%fd46, %fd3, %fd7;
	fma.rn.f64 	%fd92, %fd45, %fd46, %fd91;
	setp.eq.s64 	%p5, %rd15, 0;
	@%p5 bra 	$L__BB5_9;
	add.s64 	%rd97, %rd31, %rd137;
	ld.global.f64 	%fd47, [%rd97];
	fma.rn.f64 	%fd92, %fd10, %fd47, %fd92;
$L__BB5_9:
	sub.f64 	%fd49, %fd40, %fd1;
	mul.f64 	%fd50, %fd1, %fd49;
	mul.f64 	%fd51, %fd4, %fd92;
	mul.f64 	%fd14, %fd50, %fd51;
	add.s64 	%rd98, %rd49, %rd137;
	ld.global.f64 	%fd52, [%rd98];
	mul.f64 	%fd53, %fd92, %fd52;
	sub.f64 	%fd54, %fd40, %fd2;
	mul.f64 	%fd55, %fd2, %fd54;
	mul.f64 	%fd15, %fd55, %fd53;
	mul.f64 	%fd93, %fd2, %fd92;
	setp.eq.s64 	%p6, %rd18, 0;
	@%p6 bra 	$L__BB5_11;
	add.s64 	%rd99, %rd30, %rd137;
	ld.global.f64 	%fd56, [%rd99];
	add.s64 	%rd100, %rd27, %rd137;
	ld.global.f64 	%fd57, [%rd100];
	mul.f64 	%fd58, %fd15, %fd57;
	fma.rn.f64 	%fd59, %fd14, %fd56, %fd58;
	add.f64 	%fd93, %fd93, %fd59;
$L__BB5_11:
	add.s64 	%rd101, %rd59, %rd137;
	st.global.f64 	[%rd101], %fd14;
	add.s64 	%rd102, %rd101, %rd36;
	st.global.f64 	[%rd102], %fd15;
	mul.f64 	%fd60, %fd4, %fd4;
	mov.f64 	%fd61, 0d3FF0000000000000;
	sub.f64 	%fd62, %fd61, %fd60;
	mul.f64 	%fd63, %fd1, %fd92;
	mul.f64 	%fd64, %fd62, %fd63;
	add.s64 	%rd103, %rd102, %rd36;
	st.global.f64 	[%rd103], %fd64;
	add.s64 	%rd104, %rd103, %rd36;
	st.global.f64 	[%rd104], %fd10;
	add.s64 	%rd105, %rd48, %rd137;
	st.global.f64 	[%rd105], %fd93;
	add.s64 	%rd137, %rd137, %rd29;
	add.s64 	%rd138, %rd138, %rd23;
	setp.lt.s64 	%p7, %rd138, %rd2;
	@%p7 bra 	$L__BB5_5;
	bra.uni 	$L__BB5_20;
$L__BB5_12:
	mov.u64 	%rd139, %rd5;
$L__BB5_13:
	.pragma "nounroll";
	add.s64 	%rd65, %rd139, %rd46;
	shl.b64 	%rd106, %rd65, 3;
	add.s64 	%rd107, %rd6, %rd106;
	ld.global.f64 	%fd19, [%rd107];
	add.s64 	%rd108, %rd7, %rd106;
	ld.global.f64 	%fd20, [%rd108];
	add.s64 	%rd109, %rd8, %rd106;
	ld.global.f64 	%fd21, [%rd109];
	add.s64 	%rd110, %rd9, %rd106;
	ld.global.f64 	%fd22, [%rd110];
	add.s64 	%rd111, %rd10, %rd106;
	ld.global.f64 	%fd23, [%rd111];
	add.s64 	%rd112, %rd11, %rd106;
	ld.global.f64 	%fd24, [%rd112];
	add.s64 	%rd113, %rd12, %rd106;
	ld.global.f64 	%fd94, [%rd113];
	setp.eq.s64 	%p8, %rd13, 0;
	@%p8 bra 	$L__BB5_15;
	cvta.to.global.u64 	%rd133, %rd13;
	add.s64 	%rd115, %rd133, %rd106;
	ld.global.f64 	%fd65, [%rd115];
	add.f64 	%fd94, %fd94, %fd65;
$L__BB5_15:
	mov.f64 	%fd66, 0d3FF0000000000000;
	sub.f64 	%fd67, %fd66, %fd21;
	mul.f64 	%fd68, %fd21, %fd67;
	mul.f64 	%fd69, %fd23, %fd24;
	mul.f64 	%fd28, %fd68, %fd69;
	mul.f64 	%fd70, %fd23, %fd23;
	sub.f64 	%fd71, %fd66, %fd70;
	mul.f64 	%fd72, %fd21, %fd24;
	fma.rn.f64 	%fd95, %fd71, %fd72, %fd94;
	setp.eq.s64 	%p9, %rd15, 0;
	@%p9 bra 	$L__BB5_17;
	cvta.to.global.u64 	%rd134, %rd15;
	shl.b64 	%rd116, %rd139, 3;
	add.s64 	%rd117, %rd134, %rd116;
	ld.global.f64 	%fd73, [%rd117];
	fma.rn.f64 	%fd95, %fd28, %fd73, %fd95;
$L__BB5_17:
	sub.f64 	%fd75, %fd66, %fd19;
	mul.f64 	%fd76, %fd19, %fd75;
	mul.f64 	%fd77, %fd22, %fd95;
	mul.f64 	%fd32, %fd76, %fd77;
	add.s64 	%rd119, %rd17, %rd106;
	ld.global.f64 	%fd78, [%rd119];
	mul.f64 	%fd79, %fd95, %fd78;
	sub.f64 	%fd80, %fd66, %fd20;
	mul.f64 	%fd81, %fd20, %fd80;
	mul.f64 	%fd33, %fd81, %fd79;
	mul.f64 	%fd96, %fd20, %fd95;
	setp.eq.s64 	%p10, %rd18, 0;
	@%p10 bra 	$L__BB5_19;
	cvta.to.global.u64 	%rd135, %rd18;
	shl.b64 	%rd120, %rd139, 3;
	add.s64 	%rd121, %rd135, %rd120;
	ld.global.f64 	%fd82, [%rd121];
	add.s64 	%rd122, %rd25, %rd120;
	ld.global.f64 	%fd83, [%rd122];
	mul.f64 	%fd84, %fd33, %fd83;
	fma.rn.f64 	%fd85, %fd32, %fd82, %fd84;
	add.f64 	%fd96, %fd96, %fd85;
$L__BB5_19:
	add.s64 	%rd123, %rd139, %rd47;
	shl.b64 	%rd124, %rd123, 3;
	add.s64 	%rd125, %rd21, %rd124;
	st.global.f64 	[%rd125], %fd32;
	add.s64 	%rd126, %rd125, %rd36;
	st.global.f64 	[%rd126], %fd33;
	mul.f64 	%fd86, %fd22, %fd22;
	mov.f64 	%fd87, 0d3FF0000000000000;
	sub.f64 	%fd88, %fd87, %fd86;
	mul.f64 	%fd89, %fd19, %fd95;
	mul.f64 	%fd90, %fd88, %fd89;
	add.s64 	%rd127, %rd126, %rd36;
	st.global.f64 	[%rd127], %fd90;
	add.s64 	%rd128, %rd127, %rd36;
	st.global.f64 	[%rd128], %fd28;
	add.s64 	%rd130, %rd22, %rd106;
	st.global.f64 	[%rd130], %fd96;
	add.s64 	%rd139, %rd139, %rd23;
	setp.lt.s64 	%p11, %rd139, %rd2;
	@%p11 bra 	$L__BB5_13;
$L__BB5_20:
	ld.param.u64 	%rd131, [block_lstm_backward_f64_param_0+120];
	add.s64 	%rd136, %rd136, %rd26;
	setp.lt.s64 	%p12, %rd136, %rd131;
	@%p12 bra 	$L__BB5_2;
$L__BB5_21:
	ret;
}
	// .globl	block_lstm_sums_f64
.visible .entry block_lstm_sums_f64(
	.param .align 8 .b8 block_lstm_sums_f64_param_0[80]
)
{
	.reg .pred 	%p<39>;
	.reg .b32 	%r<7>;
	.reg .f64 	%fd<225>;
	.reg .b64 	%rd<331>;
	ld.param.u64 	%rd96, [block_lstm_sums_f64_param_0+72];
	ld.param.u64 	%rd95, [block_lstm_sums_f64_param_0+64];
	ld.param.u64 	%rd94, [block_lstm_sums_f64_param_0+56];
	ld.param.u64 	%rd93, [block_lstm_sums_f64_param_0+48];
	ld.param.u64 	%rd92, [block_lstm_sums_f64_param_0+40];
	ld.param.u64 	%rd91, [block_lstm_sums_f64_param_0+32];
	ld.param.u64 	%rd90, [block_lstm_sums_f64_param_0+24];
	ld.param.u64 	%rd89, [block_lstm_sums_f64_param_0+16];
	ld.param.u64 	%rd88, [block_lstm_sums_f64_param_0+8];
	ld.param.u64 	%rd87, [block_lstm_sums_f64_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd319, %r1;
	setp.le.s64 	%p1, %rd94, %rd319;
	@%p1 bra 	$L__BB6_52;
	cvta.to.global.u64 	%rd8, %rd88;
	cvta.to.global.u64 	%rd9, %rd90;
	cvta.to.global.u64 	%rd10, %rd89;
	cvta.to.global.u64 	%rd11, %rd87;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd98, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd99, %r4;
	add.s64 	%rd12, %rd98, %rd99;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd13, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd14, %r6;
	mul.lo.s64 	%rd100, %rd95, %rd319;
	xor.b64  	%rd15, %rd100, 3;
	mul.lo.s64 	%rd101, %rd95, %rd14;
	neg.s64 	%rd16, %rd101;
	mov.u64 	%rd318, 0;
	add.s64 	%rd102, %rd100, %rd95;
	not.b64 	%rd17, %rd102;
	not.b64 	%rd18, %rd91;
	mov.u64 	%rd103, -2;
	sub.s64 	%rd19, %rd103, %rd100;
	shl.b64 	%rd20, %rd13, 3;
	shl.b64 	%rd104, %rd98, 3;
	mul.wide.u32 	%rd105, %r4, 8;
	add.s64 	%rd21, %rd104, %rd105;
	shl.b64 	%rd22, %rd93, 5;
	shl.b64 	%rd23, %rd93, 3;
$L__BB6_2:
	.pragma "nounroll";
	ld.param.u64 	%rd302, [block_lstm_sums_f64_param_0+32];
	ld.param.u64 	%rd301, [block_lstm_sums_f64_param_0+64];
	mul.lo.s64 	%rd106, %rd318, %rd16;
	add.s64 	%rd107, %rd106, %rd15;
	add.s64 	%rd108, %rd106, %rd17;
	max.s64 	%rd109, %rd108, %rd18;
	sub.s64 	%rd26, %rd107, %rd109;
	add.s64 	%rd110, %rd19, %rd106;
	sub.s64 	%rd27, %rd110, %rd109;
	mul.lo.s64 	%rd28, %rd319, %rd301;
	add.s64 	%rd111, %rd28, %rd301;
	min.s64 	%rd29, %rd111, %rd302;
	setp.ge.s64 	%p2, %rd12, %rd93;
	@%p2 bra 	$L__BB6_51;
	setp.lt.s64 	%p3, %rd28, %rd29;
	mul.lo.s64 	%rd30, %rd319, %rd96;
	@%p3 bra 	$L__BB6_20;
	bra.uni 	$L__BB6_4;
$L__BB6_20:
	mul.lo.s64 	%rd305, %rd319, %rd96;
	ld.param.u64 	%rd304, [block_lstm_sums_f64_param_0+64];
	mul.lo.s64 	%rd303, %rd319, %rd301;
	and.b64  	%rd42, %rd26, 3;
	mul.lo.s64 	%rd44, %rd303, %rd93;
	shl.b64 	%rd43, %rd44, 2;
	sub.s64 	%rd147, %rd303, %rd92;
	mul.lo.s64 	%rd45, %rd147, %rd93;
	add.s64 	%rd46, %rd303, 1;
	mul.lo.s64 	%rd148, %rd46, %rd93;
	shl.b64 	%rd47, %rd148, 2;
	sub.s64 	%rd149, %rd46, %rd92;
	mul.lo.s64 	%rd48, %rd149, %rd93;
	mul.lo.s64 	%rd49, %rd305, %rd93;
	add.s64 	%rd50, %rd49, %rd93;
	add.s64 	%rd51, %rd303, 2;
	mul.lo.s64 	%rd150, %rd51, %rd93;
	shl.b64 	%rd52, %rd150, 2;
	sub.s64 	%rd151, %rd51, %rd92;
	mul.lo.s64 	%rd53, %rd151, %rd93;
	add.s64 	%rd54, %rd303, 3;
	add.s64 	%rd55, %rd50, %rd93;
	add.s64 	%rd56, %rd55, %rd93;
	add.s64 	%rd57, %rd56, %rd93;
	add.s64 	%rd58, %rd57, %rd93;
	add.s64 	%rd59, %rd58, %rd93;
	mov.u64 	%rd322, 0;
	mov.u64 	%rd323, %rd12;
$L__BB6_21:
	.pragma "nounroll";
	mul.lo.s64 	%rd152, %rd20, %rd322;
	add.s64 	%rd62, %rd21, %rd152;
	add.s64 	%rd63, %rd11, %rd62;
	setp.gt.s64 	%p12, %rd96, 4;
	@%p12 bra 	$L__BB6_29;
	bra.uni 	$L__BB6_22;
$L__BB6_29:
	setp.eq.s64 	%p18, %rd42, 0;
	mov.f64 	%fd218, 0d0000000000000000;
	mov.f64 	%fd219, %fd218;
	mov.f64 	%fd220, %fd218;
	mov.f64 	%fd221, %fd218;
	mov.f64 	%fd222, %fd218;
	mov.f64 	%fd223, %fd218;
	mov.f64 	%fd224, %fd218;
	mov.u64 	%rd327, %rd28;
	@%p18 bra 	$L__BB6_33;
	ld.param.u64 	%rd308, [block_lstm_sums_f64_param_0+64];
	mul.lo.s64 	%rd307, %rd319, %rd301;
	mul.lo.s64 	%rd306, %rd303, %rd93;
	setp.eq.s64 	%p19, %rd42, 1;
	add.s64 	%rd187, %rd43, %rd323;
	shl.b64 	%rd188, %rd187, 3;
	add.s64 	%rd189, %rd11, %rd188;
	ld.global.f64 	%fd131, [%rd189];
	add.f64 	%fd224, %fd131, 0d0000000000000000;
	add.s64 	%rd190, %rd189, %rd23;
	ld.global.f64 	%fd132, [%rd190];
	add.f64 	%fd223, %fd132, 0d0000000000000000;
	add.s64 	%rd191, %rd190, %rd23;
	ld.global.f64 	%fd133, [%rd191];
	add.f64 	%fd222, %fd133, 0d0000000000000000;
	add.s64 	%rd192, %rd191, %rd23;
	ld.global.f64 	%fd134, [%rd192];
	add.f64 	%fd221, %fd134, 0d0000000000000000;
	add.s64 	%rd193, %rd306, %rd323;
	shl.b64 	%rd194, %rd193, 3;
	add.s64 	%rd70, %rd10, %rd194;
	add.s64 	%rd195, %rd45, %rd323;
	shl.b64 	%rd196, %rd195, 3;
	add.s64 	%rd197, %rd8, %rd196;
	setp.lt.s64 	%p20, %rd307, %rd92;
	selp.b64 	%rd198, %rd70, %rd197, %p20;
	ld.global.f64 	%fd135, [%rd198];
	fma.rn.f64 	%fd220, %fd135, %fd131, 0d0000000000000000;
	fma.rn.f64 	%fd219, %fd135, %fd132, 0d0000000000000000;
	add.s64 	%rd71, %rd8, %rd194;
	ld.global.f64 	%fd136, [%rd71];
	fma.rn.f64 	%fd218, %fd134, %fd136, 0d0000000000000000;
	mov.u64 	%rd327, %rd46;
	@%p19 bra 	$L__BB6_33;
	setp.eq.s64 	%p21, %rd42, 2;
	add.s64 	%rd199, %rd47, %rd323;
	shl.b64 	%rd200, %rd199, 3;
	add.s64 	%rd201, %rd11, %rd200;
	ld.global.f64 	%fd137, [%rd201];
	add.f64 	%fd224, %fd137, %fd224;
	add.s64 	%rd202, %rd201, %rd23;
	ld.global.f64 	%fd138, [%rd202];
	add.f64 	%fd223, %fd138, %fd223;
	add.s64 	%rd203, %rd202, %rd23;
	ld.global.f64 	%fd139, [%rd203];
	add.f64 	%fd222, %fd139, %fd222;
	add.s64 	%rd204, %rd203, %rd23;
	ld.global.f64 	%fd140, [%rd204];
	add.f64 	%fd221, %fd140, %fd221;
	add.s64 	%rd205, %rd48, %rd323;
	shl.b64 	%rd206, %rd205, 3;
	add.s64 	%rd207, %rd8, %rd206;
	add.s64 	%rd72, %rd70, %rd23;
	setp.lt.s64 	%p22, %rd46, %rd92;
	selp.b64 	%rd209, %rd72, %rd207, %p22;
	ld.global.f64 	%fd141, [%rd209];
	fma.rn.f64 	%fd220, %fd141, %fd137, %fd220;
	fma.rn.f64 	%fd219, %fd141, %fd138, %fd219;
	add.s64 	%rd73, %rd71, %rd23;
	ld.global.f64 	%fd142, [%rd73];
	fma.rn.f64 	%fd218, %fd140, %fd142, %fd218;
	mov.u64 	%rd327, %rd51;
	@%p21 bra 	$L__BB6_33;
	setp.lt.s64 	%p23, %rd51, %rd92;
	add.s64 	%rd210, %rd52, %rd323;
	shl.b64 	%rd211, %rd210, 3;
	add.s64 	%rd212, %rd11, %rd211;
	ld.global.f64 	%fd143, [%rd212];
	add.f64 	%fd224, %fd143, %fd224;
	add.s64 	%rd213, %rd212, %rd23;
	ld.global.f64 	%fd144, [%rd213];
	add.f64 	%fd223, %fd144, %fd223;
	add.s64 	%rd214, %rd213, %rd23;
	ld.global.f64 	%fd145, [%rd214];
	add.f64 	%fd222, %fd145, %fd222;
	add.s64 	%rd215, %rd214, %rd23;
	ld.global.f64 	%fd146, [%rd215];
	add.f64 	%fd221, %fd146, %fd221;
	add.s64 	%rd216, %rd53, %rd323;
	shl.b64 	%rd217, %rd216, 3;
	add.s64 	%rd218, %rd8, %rd217;
	add.s64 	%rd220, %rd72, %rd23;
	selp.b64 	%rd221, %rd220, %rd218, %p23;
	ld.global.f64 	%fd147, [%rd221];
	fma.rn.f64 	%fd220, %fd147, %fd143, %fd220;
	fma.rn.f64 	%fd219, %fd147, %fd144, %fd219;
	add.s64 	%rd222, %rd73, %rd23;
	ld.global.f64 	%fd148, [%rd222];
	fma.rn.f64 	%fd218, %fd146, %fd148, %fd218;
	mov.u64 	%rd327, %rd54;
$L__BB6_33:
	setp.lt.u64 	%p24, %rd27, 3;
	@%p24 bra 	$L__BB6_36;
	mul.lo.s64 	%rd223, %rd22, %rd327;
	add.s64 	%rd329, %rd63, %rd223;
	mul.lo.s64 	%rd224, %rd23, %rd327;
	add.s64 	%rd225, %rd8, %rd62;
	add.s64 	%rd330, %rd225, %rd224;
$L__BB6_35:
	ld.global.f64 	%fd149, [%rd329];
	add.f64 	%fd150, %fd149, %fd224;
	add.s64 	%rd226, %rd329, %rd23;
	ld.global.f64 	%fd151, [%rd226];
	add.f64 	%fd152, %fd151, %fd223;
	add.s64 	%rd227, %rd226, %rd23;
	ld.global.f64 	%fd153, [%rd227];
	add.f64 	%fd154, %fd153, %fd222;
	add.s64 	%rd228, %rd227, %rd23;
	ld.global.f64 	%fd155, [%rd228];
	add.f64 	%fd156, %fd155, %fd221;
	mul.lo.s64 	%rd229, %rd327, %rd93;
	add.s64 	%rd230, %rd229, %rd323;
	shl.b64 	%rd231, %rd230, 3;
	add.s64 	%rd232, %rd10, %rd231;
	sub.s64 	%rd233, %rd327, %rd92;
	mul.lo.s64 	%rd234, %rd233, %rd93;
	add.s64 	%rd235, %rd234, %rd323;
	shl.b64 	%rd236, %rd235, 3;
	add.s64 	%rd237, %rd8, %rd236;
	setp.lt.s64 	%p25, %rd327, %rd92;
	selp.b64 	%rd238, %rd232, %rd237, %p25;
	ld.global.f64 	%fd157, [%rd238];
	fma.rn.f64 	%fd158, %fd157, %fd149, %fd220;
	fma.rn.f64 	%fd159, %fd157, %fd151, %fd219;
	ld.global.f64 	%fd160, [%rd330];
	fma.rn.f64 	%fd161, %fd155, %fd160, %fd218;
	add.s64 	%rd239, %rd228, %rd23;
	ld.global.f64 	%fd162, [%rd239];
	add.f64 	%fd163, %fd162, %fd150;
	add.s64 	%rd240, %rd239, %rd23;
	ld.global.f64 	%fd164, [%rd240];
	add.f64 	%fd165, %fd164, %fd152;
	add.s64 	%rd241, %rd240, %rd23;
	ld.global.f64 	%fd166, [%rd241];
	add.f64 	%fd167, %fd166, %fd154;
	add.s64 	%rd242, %rd241, %rd23;
	ld.global.f64 	%fd168, [%rd242];
	add.f64 	%fd169, %fd168, %fd156;
	add.s64 	%rd243, %rd327, 1;
	setp.lt.s64 	%p26, %rd243, %rd92;
	add.s64 	%rd245, %rd232, %rd23;
	sub.s64 	%rd246, %rd243, %rd92;
	mul.lo.s64 	%rd247, %rd246, %rd93;
	add.s64 	%rd248, %rd247, %rd323;
	shl.b64 	%rd249, %rd248, 3;
	add.s64 	%rd250, %rd8, %rd249;
	selp.b64 	%rd251, %rd245, %rd250, %p26;
	ld.global.f64 	%fd170, [%rd251];
	fma.rn.f64 	%fd171, %fd170, %fd162, %fd158;
	fma.rn.f64 	%fd172, %fd170, %fd164, %fd159;
	add.s64 	%rd252, %rd330, %rd23;
	ld.global.f64 	%fd173, [%rd252];
	fma.rn.f64 	%fd174, %fd168, %fd173, %fd161;
	add.s64 	%rd253, %rd242, %rd23;
	ld.global.f64 	%fd175, [%rd253];
	add.f64 	%fd176, %fd175, %fd163;
	add.s64 	%rd254, %rd253, %rd23;
	ld.global.f64 	%fd177, [%rd254];
	add.f64 	%fd178, %fd177, %fd165;
	add.s64 	%rd255, %rd254, %rd23;
	ld.global.f64 	%fd179, [%rd255];
	add.f64 	%fd180, %fd179, %fd167;
	add.s64 	%rd256, %rd255, %rd23;
	ld.global.f64 	%fd181, [%rd256];
	add.f64 	%fd182, %fd181, %fd169;
	add.s64 	%rd257, %rd327, 2;
	setp.lt.s64 	%p27, %rd257, %rd92;
	add.s64 	%rd258, %rd245, %rd23;
	sub.s64 	%rd259, %rd257, %rd92;
	mul.lo.s64 	%rd260, %rd259, %rd93;
	add.s64 	%rd261, %rd260, %rd323;
	shl.b64 	%rd262, %rd261, 3;
	add.s64 	%rd263, %rd8, %rd262;
	selp.b64 	%rd264, %rd258, %rd263, %p27;
	ld.global.f64 	%fd183, [%rd264];
	fma.rn.f64 	%fd184, %fd183, %fd175, %fd171;
	fma.rn.f64 	%fd185, %fd183, %fd177, %fd172;
	add.s64 	%rd265, %rd252, %rd23;
	ld.global.f64 	%fd186, [%rd265];
	fma.rn.f64 	%fd187, %fd181, %fd186, %fd174;
	add.s64 	%rd266, %rd256, %rd23;
	ld.global.f64 	%fd188, [%rd266];
	add.f64 	%fd224, %fd188, %fd176;
	add.s64 	%rd267, %rd266, %rd23;
	ld.global.f64 	%fd189, [%rd267];
	add.f64 	%fd223, %fd189, %fd178;
	add.s64 	%rd268, %rd267, %rd23;
	ld.global.f64 	%fd190, [%rd268];
	add.f64 	%fd222, %fd190, %fd180;
	add.s64 	%rd269, %rd268, %rd23;
	add.s64 	%rd329, %rd269, %rd23;
	ld.global.f64 	%fd191, [%rd269];
	add.f64 	%fd221, %fd191, %fd182;
	add.s64 	%rd270, %rd327, 3;
	setp.lt.s64 	%p28, %rd270, %rd92;
	add.s64 	%rd271, %rd258, %rd23;
	sub.s64 	%rd272, %rd270, %rd92;
	mul.lo.s64 	%rd273, %rd272, %rd93;
	add.s64 	%rd274, %rd273, %rd323;
	shl.b64 	%rd275, %rd274, 3;
	add.s64 	%rd276, %rd8, %rd275;
	selp.b64 	%rd277, %rd271, %rd276, %p28;
	ld.global.f64 	%fd192, [%rd277];
	fma.rn.f64 	%fd220, %fd192, %fd188, %fd184;
	fma.rn.f64 	%fd219, %fd192, %fd189, %fd185;
	add.s64 	%rd278, %rd265, %rd23;
	add.s64 	%rd330, %rd278, %rd23;
	ld.global.f64 	%fd193, [%rd278];
	fma.rn.f64 	%fd218, %fd191, %fd193, %fd187;
	add.s64 	%rd327, %rd327, 4;
	setp.lt.s64 	%p29, %rd327, %rd29;
	@%p29 bra 	$L__BB6_35;
	bra.uni 	$L__BB6_36;
$L__BB6_22:
	setp.eq.s64 	%p13, %rd42, 0;
	mov.f64 	%fd221, 0d0000000000000000;
	mov.f64 	%fd222, %fd221;
	mov.f64 	%fd223, %fd221;
	mov.f64 	%fd224, %fd221;
	mov.u64 	%rd324, %rd28;
	@%p13 bra 	$L__BB6_26;
	setp.eq.s64 	%p14, %rd42, 1;
	add.s64 	%rd153, %rd43, %rd323;
	shl.b64 	%rd154, %rd153, 3;
	add.s64 	%rd155, %rd11, %rd154;
	ld.global.f64 	%fd78, [%rd155];
	add.f64 	%fd224, %fd78, 0d0000000000000000;
	add.s64 	%rd156, %rd155, %rd23;
	ld.global.f64 	%fd79, [%rd156];
	add.f64 	%fd223, %fd79, 0d0000000000000000;
	add.s64 	%rd157, %rd156, %rd23;
	ld.global.f64 	%fd80, [%rd157];
	add.f64 	%fd222, %fd80, 0d0000000000000000;
	add.s64 	%rd158, %rd157, %rd23;
	ld.global.f64 	%fd81, [%rd158];
	add.f64 	%fd221, %fd81, 0d0000000000000000;
	mov.u64 	%rd324, %rd46;
	@%p14 bra 	$L__BB6_26;
	setp.eq.s64 	%p15, %rd42, 2;
	add.s64 	%rd159, %rd47, %rd323;
	shl.b64 	%rd160, %rd159, 3;
	add.s64 	%rd161, %rd11, %rd160;
	ld.global.f64 	%fd82, [%rd161];
	add.f64 	%fd224, %fd82, %fd224;
	add.s64 	%rd162, %rd161, %rd23;
	ld.global.f64 	%fd83, [%rd162];
	add.f64 	%fd223, %fd83, %fd223;
	add.s64 	%rd163, %rd162, %rd23;
	ld.global.f64 	%fd84, [%rd163];
	add.f64 	%fd222, %fd84, %fd222;
	add.s64 	%rd164, %rd163, %rd23;
	ld.global.f64 	%fd85, [%rd164];
	add.f64 	%fd221, %fd85, %fd221;
	mov.u64 	%rd324, %rd51;
	@%p15 bra 	$L__BB6_26;
	add.s64 	%rd165, %rd52, %rd323;
	shl.b64 	%rd166, %rd165, 3;
	add.s64 	%rd167, %rd11, %rd166;
	ld.global.f64 	%fd86, [%rd167];
	add.f64 	%fd224, %fd86, %fd224;
	add.s64 	%rd168, %rd167, %rd23;
	ld.global.f64 	%fd87, [%rd168];
	add.f64 	%fd223, %fd87, %fd223;
	add.s64 	%rd169, %rd168, %rd23;
	ld.global.f64 	%fd88, [%rd169];
	add.f64 	%fd222, %fd88, %fd222;
	add.s64 	%rd170, %rd169, %rd23;
	ld.global.f64 	%fd89, [%rd170];
	add.f64 	%fd221, %fd89, %fd221;
	mov.u64 	%rd324, %rd54;
$L__BB6_26:
	mov.f64 	%fd218, 0d0000000000000000;
	setp.lt.u64 	%p16, %rd27, 3;
	mov.f64 	%fd219, %fd218;
	mov.f64 	%fd220, %fd218;
	@%p16 bra 	$L__BB6_36;
	mul.lo.s64 	%rd171, %rd22, %rd324;
	add.s64 	%rd326, %rd63, %rd171;
$L__BB6_28:
	mov.f64 	%fd218, 0d0000000000000000;
	ld.global.f64 	%fd96, [%rd326];
	add.f64 	%fd97, %fd96, %fd224;
	add.s64 	%rd172, %rd326, %rd23;
	ld.global.f64 	%fd98, [%rd172];
	add.f64 	%fd99, %fd98, %fd223;
	add.s64 	%rd173, %rd172, %rd23;
	ld.global.f64 	%fd100, [%rd173];
	add.f64 	%fd101, %fd100, %fd222;
	add.s64 	%rd174, %rd173, %rd23;
	ld.global.f64 	%fd102, [%rd174];
	add.f64 	%fd103, %fd102, %fd221;
	add.s64 	%rd175, %rd174, %rd23;
	ld.global.f64 	%fd104, [%rd175];
	add.f64 	%fd105, %fd104, %fd97;
	add.s64 	%rd176, %rd175, %rd23;
	ld.global.f64 	%fd106, [%rd176];
	add.f64 	%fd107, %fd106, %fd99;
	add.s64 	%rd177, %rd176, %rd23;
	ld.global.f64 	%fd108, [%rd177];
	add.f64 	%fd109, %fd108, %fd101;
	add.s64 	%rd178, %rd177, %rd23;
	ld.global.f64 	%fd110, [%rd178];
	add.f64 	%fd111, %fd110, %fd103;
	add.s64 	%rd179, %rd178, %rd23;
	ld.global.f64 	%fd112, [%rd179];
	add.f64 	%fd113, %fd112, %fd105;
	add.s64 	%rd180, %rd179, %rd23;
	ld.global.f64 	%fd114, [%rd180];
	add.f64 	%fd115, %fd114, %fd107;
	add.s64 	%rd181, %rd180, %rd23;
	ld.global.f64 	%fd116, [%rd181];
	add.f64 	%fd117, %fd116, %fd109;
	add.s64 	%rd182, %rd181, %rd23;
	ld.global.f64 	%fd118, [%rd182];
	add.f64 	%fd119, %fd118, %fd111;
	add.s64 	%rd183, %rd182, %rd23;
	ld.global.f64 	%fd120, [%rd183];
	add.f64 	%fd224, %fd120, %fd113;
	add.s64 	%rd184, %rd183, %rd23;
	ld.global.f64 	%fd121, [%rd184];
	add.f64 	%fd223, %fd121, %fd115;
	add.s64 	%rd185, %rd184, %rd23;
	ld.global.f64 	%fd122, [%rd185];
	add.f64 	%fd222, %fd122, %fd117;
	add.s64 	%rd186, %rd185, %rd23;
	add.s64 	%rd326, %rd186, %rd23;
	ld.global.f64 	%fd123, [%rd186];
	add.f64 	%fd221, %fd123, %fd119;
	add.s64 	%rd324, %rd324, 4;
	setp.lt.s64 	%p17, %rd324, %rd29;
	mov.f64 	%fd219, %fd218;
	mov.f64 	%fd220, %fd218;
	@%p17 bra 	$L__BB6_28;
$L__BB6_36:
	setp.lt.s64 	%p30, %rd96, 1;
	@%p30 bra 	$L__BB6_38;
	mul.lo.s64 	%rd317, %rd319, %rd96;
	mul.lo.s64 	%rd316, %rd305, %rd93;
	add.s64 	%rd279, %rd316, %rd323;
	shl.b64 	%rd280, %rd279, 3;
	add.s64 	%rd281, %rd9, %rd280;
	st.global.f64 	[%rd281], %fd224;
$L__BB6_38:
	setp.lt.s64 	%p31, %rd96, 2;
	@%p31 bra 	$L__BB6_40;
	mul.lo.s64 	%rd315, %rd319, %rd96;
	mul.lo.s64 	%rd314, %rd305, %rd93;
	add.s64 	%rd313, %rd314, %rd93;
	add.s64 	%rd282, %rd313, %rd323;
	shl.b64 	%rd283, %rd282, 3;
	add.s64 	%rd284, %rd9, %rd283;
	st.global.f64 	[%rd284], %fd223;
$L__BB6_40:
	setp.lt.s64 	%p32, %rd96, 3;
	@%p32 bra 	$L__BB6_42;
	mul.lo.s64 	%rd312, %rd319, %rd96;
	mul.lo.s64 	%rd311, %rd305, %rd93;
	add.s64 	%rd310, %rd311, %rd93;
	add.s64 	%rd309, %rd310, %rd93;
	add.s64 	%rd285, %rd309, %rd323;
	shl.b64 	%rd286, %rd285, 3;
	add.s64 	%rd287, %rd9, %rd286;
	st.global.f64 	[%rd287], %fd222;
$L__BB6_42:
	setp.lt.s64 	%p33, %rd96, 4;
	@%p33 bra 	$L__BB6_44;
	add.s64 	%rd288, %rd56, %rd323;
	shl.b64 	%rd289, %rd288, 3;
	add.s64 	%rd290, %rd9, %rd289;
	st.global.f64 	[%rd290], %fd221;
$L__BB6_44:
	setp.lt.s64 	%p34, %rd96, 5;
	@%p34 bra 	$L__BB6_46;
	add.s64 	%rd291, %rd57, %rd323;
	shl.b64 	%rd292, %rd291, 3;
	add.s64 	%rd293, %rd9, %rd292;
	st.global.f64 	[%rd293], %fd220;
$L__BB6_46:
	setp.lt.s64 	%p35, %rd96, 6;
	@%p35 bra 	$L__BB6_48;
	add.s64 	%rd294, %rd58, %rd323;
	shl.b64 	%rd295, %rd294, 3;
	add.s64 	%rd296, %rd9, %rd295;
	st.global.f64 	[%rd296], %fd219;
$L__BB6_48:
	setp.lt.s64 	%p36, %rd96, 7;
	@%p36 bra 	$L__BB6_50;
	add.s64 	%rd297, %rd59, %rd323;
	shl.b64 	%rd298, %rd297, 3;
	add.s64 	%rd299, %rd9, %rd298;
	st.global.f64 	[%rd299], %fd218;
$L__BB6_50:
	add.s64 	%rd323, %rd323, %rd13;
	setp.lt.s64 	%p37, %rd323, %rd93;
	add.s64 	%rd322, %rd322, 1;
	@%p37 bra 	$L__BB6_21;
	bra.uni 	$L__BB6_51;
$L__BB6_4:
	mul.lo.s64 	%rd112, %rd30, %rd93;
	add.s64 	%rd113, %rd30, 6;
	mul.lo.s64 	%rd114, %rd93, %rd113;
	add.s64 	%rd115, %rd12, %rd114;
	shl.b64 	%rd31, %rd115, 3;
	add.s64 	%rd116, %rd30, 5;
	mul.lo.s64 	%rd117, %rd93, %rd116;
	add.s64 	%rd118, %rd12, %rd117;
	shl.b64 	%rd32, %rd118, 3;
	add.s64 	%rd119, %rd30, 4;
	mul.lo.s64 	%rd120, %rd93, %rd119;
	add.s64 	%rd121, %rd12, %rd120;
	shl.b64 	%rd33, %rd121, 3;
	add.s64 	%rd122, %rd30, 3;
	mul.lo.s64 	%rd123, %rd93, %rd122;
	add.s64 	%rd124, %rd12, %rd123;
	shl.b64 	%rd34, %rd124, 3;
	add.s64 	%rd125, %rd30, 2;
	mul.lo.s64 	%rd126, %rd93, %rd125;
	add.s64 	%rd127, %rd12, %rd126;
	shl.b64 	%rd35, %rd127, 3;
	add.s64 	%rd128, %rd30, 1;
	mul.lo.s64 	%rd129, %rd93, %rd128;
	add.s64 	%rd130, %rd12, %rd129;
	shl.b64 	%rd36, %rd130, 3;
	add.s64 	%rd131, %rd12, %rd112;
	shl.b64 	%rd37, %rd131, 3;
	mov.u64 	%rd320, %rd9;
	mov.u64 	%rd321, %rd12;
$L__BB6_5:
	.pragma "nounroll";
	setp.lt.s64 	%p4, %rd96, 1;
	@%p4 bra 	$L__BB6_7;
	add.s64 	%rd132, %rd320, %rd37;
	mov.u64 	%rd133, 0;
	st.global.u64 	[%rd132], %rd133;
$L__BB6_7:
	setp.lt.s64 	%p5, %rd96, 2;
	@%p5 bra 	$L__BB6_9;
	add.s64 	%rd134, %rd320, %rd36;
	mov.u64 	%rd135, 0;
	st.global.u64 	[%rd134], %rd135;
$L__BB6_9:
	setp.lt.s64 	%p6, %rd96, 3;
	@%p6 bra 	$L__BB6_11;
	add.s64 	%rd136, %rd320, %rd35;
	mov.u64 	%rd137, 0;
	st.global.u64 	[%rd136], %rd137;
$L__BB6_11:
	setp.lt.s64 	%p7, %rd96, 4;
	@%p7 bra 	$L__BB6_13;
	add.s64 	%rd138, %rd320, %rd34;
	mov.u64 	%rd139, 0;
	st.global.u64 	[%rd138], %rd139;
$L__BB6_13:
	setp.lt.s64 	%p8, %rd96, 5;
	@%p8 bra 	$L__BB6_15;
	add.s64 	%rd140, %rd320, %rd33;
	mov.u64 	%rd141, 0;
	st.global.u64 	[%rd140], %rd141;
$L__BB6_15:
	setp.lt.s64 	%p9, %rd96, 6;
	@%p9 bra 	$L__BB6_17;
	add.s64 	%rd142, %rd320, %rd32;
	mov.u64 	%rd143, 0;
	st.global.u64 	[%rd142], %rd143;
$L__BB6_17:
	setp.lt.s64 	%p10, %rd96, 7;
	@%p10 bra 	$L__BB6_19;
	add.s64 	%rd144, %rd320, %rd31;
	mov.u64 	%rd145, 0;
	st.global.u64 	[%rd144], %rd145;
$L__BB6_19:
	add.s64 	%rd320, %rd320, %rd20;
	add.s64 	%rd321, %rd321, %rd13;
	setp.lt.s64 	%p11, %rd321, %rd93;
	@%p11 bra 	$L__BB6_5;
$L__BB6_51:
	ld.param.u64 	%rd300, [block_lstm_sums_f64_param_0+56];
	add.s64 	%rd319, %rd319, %rd14;
	setp.lt.s64 	%p38, %rd319, %rd300;
	add.s64 	%rd318, %rd318, 1;
	@%p38 bra 	$L__BB6_2;
$L__BB6_52:
	ret;
}
	// .globl	block_lstm_finish_sums_f64
.visible .entry block_lstm_finish_sums_f64(
	.param .align 8 .b8 block_lstm_finish_sums_f64_param_0[64]
)
{
	.reg .pred 	%p<23>;
	.reg .b32 	%r<7>;
	.reg .f64 	%fd<26>;
	.reg .b64 	%rd<87>;
	ld.param.u64 	%rd50, [block_lstm_finish_sums_f64_param_0+56];
	ld.param.u64 	%rd49, [block_lstm_finish_sums_f64_param_0+48];
	ld.param.u64 	%rd48, [block_lstm_finish_sums_f64_param_0+40];
	ld.param.u64 	%rd47, [block_lstm_finish_sums_f64_param_0+32];
	ld.param.u64 	%rd46, [block_lstm_finish_sums_f64_param_0+24];
	ld.param.u64 	%rd45, [block_lstm_finish_sums_f64_param_0+16];
	ld.param.u64 	%rd44, [block_lstm_finish_sums_f64_param_0+8];
	ld.param.u64 	%rd43, [block_lstm_finish_sums_f64_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd77, %r1;
	setp.le.s64 	%p1, %rd50, %rd77;
	@%p1 bra 	$L__BB7_29;
	cvta.to.global.u64 	%rd9, %rd43;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd51, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd52, %r4;
	add.s64 	%rd10, %rd51, %rd52;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd11, %r5, %r3;
	mul.lo.s64 	%rd12, %rd48, %rd50;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd13, %r6;
	setp.gt.s64 	%p2, %rd49, 0;
	@%p2 bra 	$L__BB7_13;
	bra.uni 	$L__BB7_2;
$L__BB7_13:
	add.s64 	%rd23, %rd49, -1;
	and.b64  	%rd24, %rd49, 3;
	sub.s64 	%rd25, %rd24, %rd49;
	mul.lo.s64 	%rd60, %rd50, %rd48;
	shl.b64 	%rd26, %rd60, 3;
$L__BB7_14:
	.pragma "nounroll";
	setp.lt.u64 	%p11, %rd77, 4;
	mov.u64 	%rd82, %rd44;
	@%p11 bra 	$L__BB7_18;
	setp.eq.s64 	%p12, %rd77, 4;
	mov.u64 	%rd82, %rd45;
	@%p12 bra 	$L__BB7_18;
	setp.ne.s64 	%p13, %rd77, 5;
	mov.u64 	%rd82, %rd46;
	@%p13 bra 	$L__BB7_17;
	bra.uni 	$L__BB7_18;
$L__BB7_17:
	mov.u64 	%rd82, %rd47;
$L__BB7_18:
	setp.ge.s64 	%p14, %rd10, %rd48;
	@%p14 bra 	$L__BB7_28;
	cvta.to.global.u64 	%rd29, %rd82;
	mul.lo.s64 	%rd30, %rd77, %rd48;
	mov.u64 	%rd83, %rd10;
$L__BB7_20:
	.pragma "nounroll";
	add.s64 	%rd32, %rd83, %rd30;
	setp.lt.u64 	%p15, %rd23, 3;
	mov.f64 	%fd25, 0d0000000000000000;
	mov.u64 	%rd86, 0;
	@%p15 bra 	$L__BB7_23;
	shl.b64 	%rd63, %rd32, 3;
	add.s64 	%rd84, %rd9, %rd63;
	mov.f64 	%fd25, 0d0000000000000000;
	mov.u64 	%rd86, 0;
$L__BB7_22:
	ld.global.f64 	%fd12, [%rd84];
	add.f64 	%fd13, %fd25, %fd12;
	add.s64 	%rd64, %rd84, %rd26;
	ld.global.f64 	%fd14, [%rd64];
	add.f64 	%fd15, %fd13, %fd14;
	add.s64 	%rd65, %rd64, %rd26;
	ld.global.f64 	%fd16, [%rd65];
	add.f64 	%fd17, %fd15, %fd16;
	add.s64 	%rd66, %rd65, %rd26;
	add.s64 	%rd84, %rd66, %rd26;
	ld.global.f64 	%fd18, [%rd66];
	add.f64 	%fd25, %fd17, %fd18;
	add.s64 	%rd86, %rd86, 4;
	add.s64 	%rd67, %rd25, %rd86;
	setp.ne.s64 	%p16, %rd67, 0;
	@%p16 bra 	$L__BB7_22;
$L__BB7_23:
	setp.eq.s64 	%p17, %rd24, 0;
	@%p17 bra 	$L__BB7_27;
	setp.eq.s64 	%p18, %rd24, 1;
	mul.lo.s64 	%rd68, %rd12, %rd86;
	add.s64 	%rd69, %rd68, %rd32;
	shl.b64 	%rd70, %rd69, 3;
	add.s64 	%rd39, %rd9, %rd70;
	ld.global.f64 	%fd19, [%rd39];
	add.f64 	%fd25, %fd25, %fd19;
	@%p18 bra 	$L__BB7_27;
	setp.eq.s64 	%p19, %rd24, 2;
	shl.b64 	%rd71, %rd12, 3;
	add.s64 	%rd40, %rd39, %rd71;
	ld.global.f64 	%fd20, [%rd40];
	add.f64 	%fd25, %fd25, %fd20;
	@%p19 bra 	$L__BB7_27;
	add.s64 	%rd73, %rd40, %rd71;
	ld.global.f64 	%fd21, [%rd73];
	add.f64 	%fd25, %fd25, %fd21;
$L__BB7_27:
	selp.b64 	%rd74, %rd32, %rd83, %p11;
	shl.b64 	%rd75, %rd74, 3;
	add.s64 	%rd76, %rd29, %rd75;
	st.global.f64 	[%rd76], %fd25;
	add.s64 	%rd83, %rd83, %rd11;
	setp.lt.s64 	%p21, %rd83, %rd48;
	@%p21 bra 	$L__BB7_20;
$L__BB7_28:
	add.s64 	%rd77, %rd77, %rd13;
	setp.lt.s64 	%p22, %rd77, %rd50;
	@%p22 bra 	$L__BB7_14;
	bra.uni 	$L__BB7_29;
$L__BB7_2:
	.pragma "nounroll";
	setp.lt.u64 	%p3, %rd77, 4;
	mov.u64 	%rd78, %rd44;
	@%p3 bra 	$L__BB7_6;
	setp.eq.s64 	%p4, %rd77, 4;
	mov.u64 	%rd78, %rd45;
	@%p4 bra 	$L__BB7_6;
	setp.ne.s64 	%p5, %rd77, 5;
	mov.u64 	%rd78, %rd46;
	@%p5 bra 	$L__BB7_5;
	bra.uni 	$L__BB7_6;
$L__BB7_5:
	mov.u64 	%rd78, %rd47;
$L__BB7_6:
	setp.ge.s64 	%p6, %rd10, %rd48;
	@%p6 bra 	$L__BB7_12;
	cvta.to.global.u64 	%rd16, %rd78;
	@%p3 bra 	$L__BB7_10;
	bra.uni 	$L__BB7_8;
$L__BB7_10:
	mul.lo.s64 	%rd19, %rd77, %rd48;
	mov.u64 	%rd80, %rd10;
$L__BB7_11:
	.pragma "nounroll";
	add.s64 	%rd56, %rd80, %rd19;
	shl.b64 	%rd57, %rd56, 3;
	add.s64 	%rd58, %rd16, %rd57;
	mov.u64 	%rd59, 0;
	st.global.u64 	[%rd58], %rd59;
	add.s64 	%rd80, %rd80, %rd11;
	setp.lt.s64 	%p9, %rd80, %rd48;
	@%p9 bra 	$L__BB7_11;
	bra.uni 	$L__BB7_12;
$L__BB7_8:
	mov.u64 	%rd79, %rd10;
$L__BB7_9:
	.pragma "nounroll";
	shl.b64 	%rd53, %rd79, 3;
	add.s64 	%rd54, %rd16, %rd53;
	mov.u64 	%rd55, 0;
	st.global.u64 	[%rd54], %rd55;
	add.s64 	%rd79, %rd79, %rd11;
	setp.lt.s64 	%p8, %rd79, %rd48;
	@%p8 bra 	$L__BB7_9;
$L__BB7_12:
	add.s64 	%rd77, %rd77, %rd13;
	setp.lt.s64 	%p10, %rd77, %rd50;
	@%p10 bra 	$L__BB7_2;
$L__BB7_29:
	ret;
}
	// .globl	block_lstm_forward_f16
.visible .entry block_lstm_forward_f16(
	.param .align 8 .b8 block_lstm_forward_f16_param_0[136]
)
{
	.reg .pred 	%p<15>;
	.reg .b16 	%rs<15>;
	.reg .f32 	%f<130>;
	.reg .b32 	%r<21>;
	.reg .b64 	%rd<91>;
	mov.b64 	%rd34, block_lstm_forward_f16_param_0;
	add.s64 	%rd1, %rd34, 120;
	ld.param.u64 	%rd2, [block_lstm_forward_f16_param_0+120];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd89, %r1;
	ld.param.u64 	%rd4, [block_lstm_forward_f16_param_0+112];
	setp.le.s64 	%p1, %rd4, %rd89;
	@%p1 bra 	$L__BB8_12;
	ld.param.u64 	%rd36, [%rd1+-120];
	cvta.to.global.u64 	%rd5, %rd36;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd37, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd38, %r4;
	add.s64 	%rd6, %rd37, %rd38;
	ld.param.u64 	%rd39, [%rd1+-80];
	cvta.to.global.u64 	%rd7, %rd39;
	ld.param.u64 	%rd40, [%rd1+-112];
	cvta.to.global.u64 	%rd8, %rd40;
	ld.param.u64 	%rd9, [%rd1+-104];
	ld.param.f32 	%f1, [%rd1+8];
	neg.f32 	%f2, %f1;
	ld.param.u64 	%rd10, [%rd1+-88];
	cvta.to.global.u64 	%rd11, %rd9;
	ld.param.u64 	%rd41, [%rd1+-96];
	cvta.to.global.u64 	%rd12, %rd41;
	ld.param.u64 	%rd42, [%rd1+-64];
	cvta.to.global.u64 	%rd13, %rd42;
	ld.param.u64 	%rd43, [%rd1+-56];
	cvta.to.global.u64 	%rd14, %rd43;
	ld.param.u64 	%rd44, [%rd1+-48];
	cvta.to.global.u64 	%rd15, %rd44;
	ld.param.u64 	%rd45, [%rd1+-40];
	cvta.to.global.u64 	%rd16, %rd45;
	ld.param.u64 	%rd46, [%rd1+-32];
	cvta.to.global.u64 	%rd17, %rd46;
	ld.param.u64 	%rd47, [%rd1+-24];
	cvta.to.global.u64 	%rd18, %rd47;
	ld.param.u64 	%rd48, [%rd1+-16];
	cvta.to.global.u64 	%rd19, %rd48;
	ld.param.u64 	%rd20, [%rd1+-72];
	cvta.to.global.u64 	%rd21, %rd10;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd22, %r5, %r3;
	cvta.to.global.u64 	%rd23, %rd20;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd24, %r6;
$L__BB8_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd6, %rd2;
	@%p2 bra 	$L__BB8_11;
	mov.u64 	%rd90, %rd6;
$L__BB8_4:
	.pragma "nounroll";
	mul.lo.s64 	%rd87, %rd89, %rd2;
	shl.b64 	%rd86, %rd2, 1;
	shl.b64 	%rd85, %rd2, 2;
	shl.b64 	%rd84, %rd87, 2;
	add.s64 	%rd31, %rd90, %rd87;
	shl.b64 	%rd49, %rd31, 2;
	add.s64 	%rd50, %rd7, %rd49;
	ld.global.f32 	%f3, [%rd50];
	add.s64 	%rd51, %rd90, %rd84;
	shl.b64 	%rd52, %rd51, 2;
	add.s64 	%rd53, %rd5, %rd52;
	ld.global.f32 	%f22, [%rd53];
	shl.b64 	%rd54, %rd90, 1;
	add.s64 	%rd55, %rd8, %rd54;
	ld.global.u16 	%rs1, [%rd55];
	// begin inline asm
	cvt.f32.f16 %f18, %rs1;
	// end inline asm
	add.f32 	%f127, %f22, %f18;
	add.s64 	%rd56, %rd53, %rd85;
	ld.global.f32 	%f23, [%rd56];
	add.s64 	%rd57, %rd55, %rd86;
	ld.global.u16 	%rs2, [%rd57];
	// begin inline asm
	cvt.f32.f16 %f19, %rs2;
	// end inline asm
	add.f32 	%f128, %f23, %f19;
	add.s64 	%rd58, %rd56, %rd85;
	ld.global.f32 	%f24, [%rd58];
	add.s64 	%rd59, %rd57, %rd86;
	ld.global.u16 	%rs3, [%rd59];
	// begin inline asm
	cvt.f32.f16 %f20, %rs3;
	// end inline asm
	add.f32 	%f6, %f24, %f20;
	add.s64 	%rd60, %rd58, %rd85;
	ld.global.f32 	%f25, [%rd60];
	add.s64 	%rd61, %rd59, %rd86;
	ld.global.u16 	%rs4, [%rd61];
	// begin inline asm
	cvt.f32.f16 %f21, %rs4;
	// end inline asm
	add.f32 	%f129, %f25, %f21;
	setp.eq.s64 	%p3, %rd9, 0;
	@%p3 bra 	$L__BB8_6;
	shl.b64 	%rd88, %rd90, 1;
	add.s64 	%rd63, %rd11, %rd88;
	ld.global.u16 	%rs5, [%rd63];
	// begin inline asm
	cvt.f32.f16 %f26, %rs5;
	// end inline asm
	fma.rn.f32 	%f127, %f3, %f26, %f127;
	add.s64 	%rd64, %rd12, %rd88;
	ld.global.u16 	%rs6, [%rd64];
	// begin inline asm
	cvt.f32.f16 %f27, %rs6;
	// end inline asm
	fma.rn.f32 	%f128, %f3, %f27, %f128;
$L__BB8_6:
	neg.f32 	%f28, %f127;
	mov.f32 	%f29, 0f3F000000;
	mov.f32 	%f30, 0f3BBB989D;
	fma.rn.f32 	%f31, %f28, %f30, %f29;
	cvt.sat.f32.f32 	%f32, %f31;
	mov.f32 	%f33, 0f4B400001;
	mov.f32 	%f34, 0f437C0000;
	fma.rm.f32 	%f35, %f32, %f34, %f33;
	add.f32 	%f36, %f35, 0fCB40007F;
	neg.f32 	%f37, %f36;
	mov.f32 	%f38, 0f3FB8AA3B;
	fma.rn.f32 	%f39, %f28, %f38, %f37;
	mov.f32 	%f40, 0f32A57060;
	fma.rn.f32 	%f41, %f28, %f40, %f39;
	mov.b32 	%r7, %f35;
	shl.b32 	%r8, %r7, 23;
	mov.b32 	%f42, %r8;
	ex2.approx.ftz.f32 	%f43, %f41;
	fma.rn.f32 	%f44, %f43, %f42, 0f3F800000;
	mov.f32 	%f45, 0f3F800000;
	rcp.rn.f32 	%f12, %f44;
	neg.f32 	%f46, %f128;
	fma.rn.f32 	%f47, %f46, %f30, %f29;
	cvt.sat.f32.f32 	%f48, %f47;
	fma.rm.f32 	%f49, %f48, %f34, %f33;
	add.f32 	%f50, %f49, 0fCB40007F;
	neg.f32 	%f51, %f50;
	fma.rn.f32 	%f52, %f46, %f38, %f51;
	fma.rn.f32 	%f53, %f46, %f40, %f52;
	mov.b32 	%r9, %f49;
	shl.b32 	%r10, %r9, 23;
	mov.b32 	%f54, %r10;
	ex2.approx.ftz.f32 	%f55, %f53;
	fma.rn.f32 	%f56, %f55, %f54, 0f3F800000;
	rcp.rn.f32 	%f13, %f56;
	abs.f32 	%f57, %f6;
	mul.f32 	%f58, %f57, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f59, %f58;
	add.f32 	%f60, %f59, 0f3F800000;
	rcp.approx.ftz.f32 	%f61, %f60;
	mov.f32 	%f62, 0fC0000000;
	fma.rn.f32 	%f63, %f61, %f62, %f45;
	setp.ge.f32 	%p4, %f57, 0f41102CB4;
	selp.f32 	%f64, 0f3F800000, %f63, %p4;
	mov.b32 	%r11, %f64;
	mov.b32 	%r12, %f6;
	and.b32  	%r13, %r12, -2147483648;
	or.b32  	%r14, %r13, %r11;
	mov.b32 	%f65, %r14;
	mul.f32 	%f66, %f6, %f6;
	mov.f32 	%f67, 0fBD563CAE;
	mov.f32 	%f68, 0f3C80F082;
	fma.rn.f32 	%f69, %f68, %f66, %f67;
	mov.f32 	%f70, 0f3E085941;
	fma.rn.f32 	%f71, %f69, %f66, %f70;
	mov.f32 	%f72, 0fBEAAA9ED;
	fma.rn.f32 	%f73, %f71, %f66, %f72;
	mov.f32 	%f74, 0f00000000;
	fma.rn.f32 	%f75, %f73, %f66, %f74;
	fma.rn.f32 	%f76, %f75, %f6, %f6;
	setp.ge.f32 	%p5, %f57, 0f3F19999A;
	selp.f32 	%f14, %f65, %f76, %p5;
	mul.f32 	%f77, %f12, %f14;
	fma.rn.f32 	%f78, %f3, %f13, %f77;
	setp.gt.f32 	%p6, %f78, %f1;
	setp.lt.f32 	%p7, %f78, %f2;
	selp.f32 	%f79, %f2, %f78, %p7;
	selp.f32 	%f80, %f1, %f79, %p6;
	setp.gt.f32 	%p8, %f1, 0f00000000;
	selp.f32 	%f15, %f80, %f78, %p8;
	setp.eq.s64 	%p9, %rd10, 0;
	@%p9 bra 	$L__BB8_8;
	shl.b64 	%rd77, %rd90, 1;
	add.s64 	%rd66, %rd21, %rd77;
	ld.global.u16 	%rs7, [%rd66];
	// begin inline asm
	cvt.f32.f16 %f81, %rs7;
	// end inline asm
	fma.rn.f32 	%f129, %f15, %f81, %f129;
$L__BB8_8:
	mul.lo.s64 	%rd79, %rd89, %rd2;
	add.s64 	%rd78, %rd90, %rd79;
	neg.f32 	%f89, %f129;
	fma.rn.f32 	%f92, %f89, %f30, %f29;
	cvt.sat.f32.f32 	%f93, %f92;
	fma.rm.f32 	%f96, %f93, %f34, %f33;
	add.f32 	%f97, %f96, 0fCB40007F;
	neg.f32 	%f98, %f97;
	fma.rn.f32 	%f100, %f89, %f38, %f98;
	fma.rn.f32 	%f102, %f89, %f40, %f100;
	mov.b32 	%r15, %f96;
	shl.b32 	%r16, %r15, 23;
	mov.b32 	%f103, %r16;
	ex2.approx.ftz.f32 	%f104, %f102;
	fma.rn.f32 	%f105, %f104, %f103, 0f3F800000;
	rcp.rn.f32 	%f85, %f105;
	abs.f32 	%f107, %f15;
	mul.f32 	%f108, %f107, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f109, %f108;
	add.f32 	%f110, %f109, 0f3F800000;
	rcp.approx.ftz.f32 	%f111, %f110;
	fma.rn.f32 	%f113, %f111, %f62, %f45;
	setp.ge.f32 	%p10, %f107, 0f41102CB4;
	selp.f32 	%f114, 0f3F800000, %f113, %p10;
	mov.b32 	%r17, %f114;
	mov.b32 	%r18, %f15;
	and.b32  	%r19, %r18, -2147483648;
	or.b32  	%r20, %r19, %r17;
	mov.b32 	%f115, %r20;
	mul.f32 	%f116, %f15, %f15;
	fma.rn.f32 	%f119, %f68, %f116, %f67;
	fma.rn.f32 	%f121, %f119, %f116, %f70;
	fma.rn.f32 	%f123, %f121, %f116, %f72;
	fma.rn.f32 	%f125, %f123, %f116, %f74;
	fma.rn.f32 	%f126, %f125, %f15, %f15;
	setp.ge.f32 	%p11, %f107, 0f3F19999A;
	selp.f32 	%f87, %f115, %f126, %p11;
	// begin inline asm
	cvt.rn.f16.f32 %rs8, %f12;
	// end inline asm
	shl.b64 	%rd67, %rd78, 1;
	add.s64 	%rd68, %rd13, %rd67;
	st.global.u16 	[%rd68], %rs8;
	// begin inline asm
	cvt.rn.f16.f32 %rs9, %f15;
	// end inline asm
	add.s64 	%rd69, %rd14, %rd67;
	st.global.u16 	[%rd69], %rs9;
	// begin inline asm
	cvt.rn.f16.f32 %rs10, %f13;
	// end inline asm
	add.s64 	%rd70, %rd15, %rd67;
	st.global.u16 	[%rd70], %rs10;
	// begin inline asm
	cvt.rn.f16.f32 %rs11, %f85;
	// end inline asm
	add.s64 	%rd71, %rd16, %rd67;
	st.global.u16 	[%rd71], %rs11;
	// begin inline asm
	cvt.rn.f16.f32 %rs12, %f14;
	// end inline asm
	add.s64 	%rd72, %rd17, %rd67;
	st.global.u16 	[%rd72], %rs12;
	// begin inline asm
	cvt.rn.f16.f32 %rs13, %f87;
	// end inline asm
	add.s64 	%rd73, %rd18, %rd67;
	st.global.u16 	[%rd73], %rs13;
	mul.f32 	%f88, %f85, %f87;
	// begin inline asm
	cvt.rn.f16.f32 %rs14, %f88;
	// end inline asm
	add.s64 	%rd74, %rd19, %rd67;
	st.global.u16 	[%rd74], %rs14;
	setp.eq.s64 	%p12, %rd20, 0;
	@%p12 bra 	$L__BB8_10;
	mul.lo.s64 	%rd82, %rd89, %rd2;
	add.s64 	%rd81, %rd90, %rd82;
	shl.b64 	%rd80, %rd81, 2;
	add.s64 	%rd76, %rd23, %rd80;
	st.global.f32 	[%rd76], %f15;
$L__BB8_10:
	add.s64 	%rd90, %rd90, %rd22;
	setp.lt.s64 	%p13, %rd90, %rd2;
	@%p13 bra 	$L__BB8_4;
$L__BB8_11:
	ld.param.u64 	%rd83, [block_lstm_forward_f16_param_0+112];
	add.s64 	%rd89, %rd89, %rd24;
	setp.lt.s64 	%p14, %rd89, %rd83;
	@%p14 bra 	$L__BB8_2;
$L__BB8_12:
	ret;
}
	// .globl	block_lstm_backward_f16
.visible .entry block_lstm_backward_f16(
	.param .align 8 .b8 block_lstm_backward_f16_param_0[136]
)
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<16>;
	.reg .f32 	%f<62>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<89>;
	mov.b64 	%rd36, block_lstm_backward_f16_param_0;
	add.s64 	%rd1, %rd36, 128;
	ld.param.u64 	%rd2, [block_lstm_backward_f16_param_0+128];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd87, %r1;
	ld.param.u64 	%rd4, [block_lstm_backward_f16_param_0+120];
	setp.le.s64 	%p1, %rd4, %rd87;
	@%p1 bra 	$L__BB9_14;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd38, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd39, %r4;
	add.s64 	%rd5, %rd38, %rd39;
	ld.param.u64 	%rd40, [%rd1+-128];
	cvta.to.global.u64 	%rd6, %rd40;
	ld.param.u64 	%rd41, [%rd1+-120];
	cvta.to.global.u64 	%rd7, %rd41;
	ld.param.u64 	%rd42, [%rd1+-112];
	cvta.to.global.u64 	%rd8, %rd42;
	ld.param.u64 	%rd43, [%rd1+-104];
	cvta.to.global.u64 	%rd9, %rd43;
	ld.param.u64 	%rd44, [%rd1+-96];
	cvta.to.global.u64 	%rd10, %rd44;
	ld.param.u64 	%rd45, [%rd1+-72];
	cvta.to.global.u64 	%rd11, %rd45;
	ld.param.u64 	%rd46, [%rd1+-80];
	cvta.to.global.u64 	%rd12, %rd46;
	ld.param.u64 	%rd13, [%rd1+-40];
	cvta.to.global.u64 	%rd14, %rd13;
	ld.param.u64 	%rd15, [%rd1+-32];
	ld.param.u64 	%rd16, [%rd1+-48];
	cvta.to.global.u64 	%rd17, %rd15;
	ld.param.u64 	%rd47, [%rd1+-88];
	cvta.to.global.u64 	%rd18, %rd47;
	ld.param.u64 	%rd19, [%rd1+-64];
	cvta.to.global.u64 	%rd20, %rd16;
	ld.param.u64 	%rd48, [%rd1+-16];
	cvta.to.global.u64 	%rd22, %rd48;
	ld.param.u64 	%rd49, [%rd1+-24];
	cvta.to.global.u64 	%rd23, %rd49;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd24, %r5, %r3;
	cvta.to.global.u64 	%rd25, %rd19;
	ld.param.u64 	%rd50, [%rd1+-56];
	cvta.to.global.u64 	%rd26, %rd50;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd27, %r6;
$L__BB9_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd5, %rd2;
	@%p2 bra 	$L__BB9_13;
	mov.u64 	%rd88, %rd5;
$L__BB9_4:
	.pragma "nounroll";
	mul.lo.s64 	%rd86, %rd87, %rd2;
	add.s64 	%rd33, %rd88, %rd86;
	shl.b64 	%rd51, %rd33, 1;
	add.s64 	%rd52, %rd6, %rd51;
	ld.global.u16 	%rs1, [%rd52];
	// begin inline asm
	cvt.f32.f16 %f21, %rs1;
	// end inline asm
	add.s64 	%rd53, %rd7, %rd51;
	ld.global.u16 	%rs2, [%rd53];
	// begin inline asm
	cvt.f32.f16 %f22, %rs2;
	// end inline asm
	add.s64 	%rd54, %rd8, %rd51;
	ld.global.u16 	%rs3, [%rd54];
	// begin inline asm
	cvt.f32.f16 %f23, %rs3;
	// end inline asm
	add.s64 	%rd55, %rd9, %rd51;
	ld.global.u16 	%rs4, [%rd55];
	// begin inline asm
	cvt.f32.f16 %f24, %rs4;
	// end inline asm
	add.s64 	%rd56, %rd10, %rd51;
	ld.global.u16 	%rs5, [%rd56];
	// begin inline asm
	cvt.f32.f16 %f25, %rs5;
	// end inline asm
	add.s64 	%rd57, %rd11, %rd51;
	ld.global.u16 	%rs6, [%rd57];
	// begin inline asm
	cvt.f32.f16 %f58, %rs6;
	// end inline asm
	add.s64 	%rd58, %rd12, %rd51;
	ld.global.u16 	%rs7, [%rd58];
	// begin inline asm
	cvt.f32.f16 %f59, %rs7;
	// end inline asm
	setp.eq.s64 	%p3, %rd13, 0;
	@%p3 bra 	$L__BB9_6;
	shl.b64 	%rd59, %rd33, 2;
	add.s64 	%rd60, %rd14, %rd59;
	ld.global.f32 	%f28, [%rd60];
	add.f32 	%f58, %f58, %f28;
$L__BB9_6:
	setp.eq.s64 	%p4, %rd15, 0;
	@%p4 bra 	$L__BB9_8;
	shl.b64 	%rd61, %rd33, 2;
	add.s64 	%rd62, %rd17, %rd61;
	ld.global.f32 	%f29, [%rd62];
	add.f32 	%f59, %f59, %f29;
$L__BB9_8:
	mov.f32 	%f30, 0f3F800000;
	sub.f32 	%f31, %f30, %f23;
	mul.f32 	%f32, %f23, %f31;
	mul.f32 	%f33, %f25, %f58;
	mul.f32 	%f12, %f32, %f33;
	mul.f32 	%f34, %f25, %f25;
	sub.f32 	%f35, %f30, %f34;
	mul.f32 	%f36, %f23, %f58;
	fma.rn.f32 	%f60, %f35, %f36, %f59;
	setp.eq.s64 	%p5, %rd16, 0;
	@%p5 bra 	$L__BB9_10;
	shl.b64 	%rd63, %rd88, 1;
	add.s64 	%rd64, %rd20, %rd63;
	ld.global.u16 	%rs8, [%rd64];
	// begin inline asm
	cvt.f32.f16 %f37, %rs8;
	// end inline asm
	fma.rn.f32 	%f60, %f12, %f37, %f60;
$L__BB9_10:
	mul.lo.s64 	%rd80, %rd87, %rd2;
	add.s64 	%rd79, %rd88, %rd80;
	shl.b64 	%rd78, %rd79, 1;
	sub.f32 	%f40, %f30, %f21;
	mul.f32 	%f41, %f21, %f40;
	mul.f32 	%f42, %f24, %f60;
	mul.f32 	%f16, %f41, %f42;
	add.s64 	%rd66, %rd18, %rd78;
	ld.global.u16 	%rs9, [%rd66];
	// begin inline asm
	cvt.f32.f16 %f38, %rs9;
	// end inline asm
	mul.f32 	%f43, %f60, %f38;
	sub.f32 	%f44, %f30, %f22;
	mul.f32 	%f45, %f22, %f44;
	mul.f32 	%f17, %f45, %f43;
	mul.f32 	%f61, %f22, %f60;
	setp.eq.s64 	%p6, %rd19, 0;
	@%p6 bra 	$L__BB9_12;
	shl.b64 	%rd67, %rd88, 1;
	add.s64 	%rd68, %rd25, %rd67;
	ld.global.u16 	%rs10, [%rd68];
	// begin inline asm
	cvt.f32.f16 %f46, %rs10;
	// end inline asm
	add.s64 	%rd69, %rd26, %rd67;
	ld.global.u16 	%rs11, [%rd69];
	// begin inline asm
	cvt.f32.f16 %f47, %rs11;
	// end inline asm
	mul.f32 	%f48, %f17, %f47;
	fma.rn.f32 	%f49, %f16, %f46, %f48;
	add.f32 	%f61, %f61, %f49;
$L__BB9_12:
	shl.b64 	%rd83, %rd2, 1;
	shl.b64 	%rd82, %rd2, 2;
	mul.lo.s64 	%rd81, %rd82, %rd87;
	// begin inline asm
	cvt.rn.f16.f32 %rs12, %f16;
	// end inline asm
	add.s64 	%rd70, %rd88, %rd81;
	shl.b64 	%rd71, %rd70, 1;
	add.s64 	%rd72, %rd22, %rd71;
	st.global.u16 	[%rd72], %rs12;
	// begin inline asm
	cvt.rn.f16.f32 %rs13, %f17;
	// end inline asm
	add.s64 	%rd73, %rd72, %rd83;
	st.global.u16 	[%rd73], %rs13;
	mul.f32 	%f54, %f24, %f24;
	mov.f32 	%f55, 0f3F800000;
	sub.f32 	%f56, %f55, %f54;
	mul.f32 	%f57, %f21, %f60;
	mul.f32 	%f52, %f56, %f57;
	// begin inline asm
	cvt.rn.f16.f32 %rs14, %f52;
	// end inline asm
	add.s64 	%rd74, %rd73, %rd83;
	st.global.u16 	[%rd74], %rs14;
	// begin inline asm
	cvt.rn.f16.f32 %rs15, %f12;
	// end inline asm
	add.s64 	%rd75, %rd74, %rd83;
	st.global.u16 	[%rd75], %rs15;
	shl.b64 	%rd76, %rd33, 2;
	add.s64 	%rd77, %rd23, %rd76;
	st.global.f32 	[%rd77], %f61;
	add.s64 	%rd88, %rd88, %rd24;
	setp.lt.s64 	%p7, %rd88, %rd2;
	@%p7 bra 	$L__BB9_4;
$L__BB9_13:
	ld.param.u64 	%rd84, [block_lstm_backward_f16_param_0+120];
	add.s64 	%rd87, %rd87, %rd27;
	setp.lt.s64 	%p8, %rd87, %rd84;
	@%p8 bra 	$L__BB9_2;
$L__BB9_14:
	ret;
}
	// .globl	block_lstm_sums_f16
.visible .entry block_lstm_sums_f16(
	.param .align 8 .b8 block_lstm_sums_f16_param_0[80]
)
{
	.reg .pred 	%p<33>;
	.reg .b16 	%rs<50>;
	.reg .f32 	%f<198>;
	.reg .b32 	%r<14>;
	.reg .b64 	%rd<276>;
	ld.param.u64 	%rd94, [block_lstm_sums_f16_param_0+72];
	ld.param.u64 	%rd93, [block_lstm_sums_f16_param_0+64];
	ld.param.u64 	%rd92, [block_lstm_sums_f16_param_0+56];
	ld.param.u64 	%rd91, [block_lstm_sums_f16_param_0+48];
	ld.param.u64 	%rd90, [block_lstm_sums_f16_param_0+40];
	ld.param.u64 	%rd89, [block_lstm_sums_f16_param_0+32];
	ld.param.u64 	%rd88, [block_lstm_sums_f16_param_0+24];
	ld.param.u64 	%rd87, [block_lstm_sums_f16_param_0+16];
	ld.param.u64 	%rd86, [block_lstm_sums_f16_param_0+8];
	ld.param.u64 	%rd85, [block_lstm_sums_f16_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd266, %r1;
	setp.le.s64 	%p1, %rd92, %rd266;
	@%p1 bra 	$L__BB10_58;
	cvta.to.global.u64 	%rd8, %rd86;
	cvta.to.global.u64 	%rd9, %rd88;
	cvta.to.global.u64 	%rd10, %rd87;
	cvta.to.global.u64 	%rd11, %rd85;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd96, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd97, %r4;
	add.s64 	%rd12, %rd96, %rd97;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd13, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd14, %r6;
	mul.lo.s64 	%rd98, %rd93, %rd266;
	xor.b64  	%rd15, %rd98, 3;
	mul.lo.s64 	%rd99, %rd93, %rd14;
	neg.s64 	%rd16, %rd99;
	mov.u64 	%rd265, 0;
	add.s64 	%rd100, %rd98, %rd93;
	not.b64 	%rd17, %rd100;
	not.b64 	%rd18, %rd89;
	mov.u64 	%rd101, -2;
	sub.s64 	%rd19, %rd101, %rd98;
	xor.b64  	%rd20, %rd98, 1;
	shl.b64 	%rd21, %rd13, 2;
	shl.b64 	%rd22, %rd91, 1;
	shl.b64 	%rd102, %rd96, 1;
	mul.wide.u32 	%rd103, %r4, 2;
	add.s64 	%rd23, %rd102, %rd103;
$L__BB10_2:
	.pragma "nounroll";
	ld.param.u64 	%rd243, [block_lstm_sums_f16_param_0+32];
	ld.param.u64 	%rd242, [block_lstm_sums_f16_param_0+64];
	mul.lo.s64 	%rd28, %rd265, %rd16;
	add.s64 	%rd104, %rd28, %rd17;
	max.s64 	%rd29, %rd104, %rd18;
	add.s64 	%rd30, %rd19, %rd28;
	mul.lo.s64 	%rd31, %rd266, %rd242;
	add.s64 	%rd105, %rd31, %rd242;
	min.s64 	%rd32, %rd105, %rd243;
	setp.ge.s64 	%p2, %rd12, %rd91;
	@%p2 bra 	$L__BB10_57;
	setp.lt.s64 	%p3, %rd31, %rd32;
	mul.lo.s64 	%rd33, %rd266, %rd94;
	@%p3 bra 	$L__BB10_20;
	bra.uni 	$L__BB10_4;
$L__BB10_20:
	mul.lo.s64 	%rd246, %rd266, %rd94;
	ld.param.u64 	%rd245, [block_lstm_sums_f16_param_0+64];
	mul.lo.s64 	%rd244, %rd266, %rd242;
	add.s64 	%rd134, %rd28, %rd20;
	sub.s64 	%rd135, %rd134, %rd29;
	and.b64  	%rd45, %rd135, 1;
	add.s64 	%rd136, %rd28, %rd15;
	sub.s64 	%rd137, %rd136, %rd29;
	and.b64  	%rd46, %rd137, 3;
	mul.lo.s64 	%rd48, %rd244, %rd91;
	shl.b64 	%rd47, %rd48, 2;
	sub.s64 	%rd138, %rd244, %rd90;
	mul.lo.s64 	%rd49, %rd138, %rd91;
	mul.lo.s64 	%rd50, %rd246, %rd91;
	add.s64 	%rd51, %rd50, %rd91;
	add.s64 	%rd52, %rd244, 1;
	mul.lo.s64 	%rd139, %rd52, %rd91;
	shl.b64 	%rd53, %rd139, 2;
	add.s64 	%rd54, %rd51, %rd91;
	add.s64 	%rd55, %rd244, 2;
	mul.lo.s64 	%rd140, %rd55, %rd91;
	shl.b64 	%rd56, %rd140, 2;
	add.s64 	%rd58, %rd54, %rd91;
	add.s64 	%rd59, %rd58, %rd91;
	add.s64 	%rd60, %rd59, %rd91;
	add.s64 	%rd61, %rd60, %rd91;
	mov.u64 	%rd269, 0;
	mov.u64 	%rd270, %rd12;
$L__BB10_21:
	.pragma "nounroll";
	add.s64 	%rd141, %rd47, %rd270;
	shl.b64 	%rd142, %rd141, 1;
	add.s64 	%rd65, %rd11, %rd142;
	add.s64 	%rd66, %rd65, %rd22;
	add.s64 	%rd67, %rd66, %rd22;
	add.s64 	%rd68, %rd67, %rd22;
	setp.gt.s64 	%p12, %rd94, 4;
	@%p12 bra 	$L__BB10_29;
	bra.uni 	$L__BB10_22;
$L__BB10_29:
	setp.eq.s64 	%p18, %rd45, 0;
	mov.f32 	%f191, 0f00000000;
	mov.f32 	%f192, %f191;
	mov.f32 	%f193, %f191;
	mov.f32 	%f194, %f191;
	mov.f32 	%f195, %f191;
	mov.f32 	%f196, %f191;
	mov.f32 	%f197, %f191;
	mov.u64 	%rd275, %rd31;
	@%p18 bra 	$L__BB10_34;
	setp.lt.s64 	%p19, %rd31, %rd90;
	ld.global.u16 	%rs29, [%rd65];
	// begin inline asm
	cvt.f32.f16 %f142, %rs29;
	// end inline asm
	ld.global.u16 	%rs30, [%rd66];
	// begin inline asm
	cvt.f32.f16 %f143, %rs30;
	// end inline asm
	ld.global.u16 	%rs31, [%rd67];
	// begin inline asm
	cvt.f32.f16 %f144, %rs31;
	// end inline asm
	ld.global.u16 	%rs32, [%rd68];
	// begin inline asm
	cvt.f32.f16 %f145, %rs32;
	// end inline asm
	@%p19 bra 	$L__BB10_32;
	bra.uni 	$L__BB10_31;
$L__BB10_32:
	add.s64 	%rd177, %rd48, %rd270;
	shl.b64 	%rd178, %rd177, 1;
	add.s64 	%rd179, %rd10, %rd178;
	ld.global.u16 	%rs34, [%rd179];
	// begin inline asm
	cvt.f32.f16 %f174, %rs34;
	// end inline asm
	bra.uni 	$L__BB10_33;
$L__BB10_22:
	setp.eq.s64 	%p13, %rd46, 0;
	mov.f32 	%f194, 0f00000000;
	mov.f32 	%f195, %f194;
	mov.f32 	%f196, %f194;
	mov.f32 	%f197, %f194;
	mov.u64 	%rd271, %rd31;
	@%p13 bra 	$L__BB10_26;
	setp.eq.s64 	%p14, %rd46, 1;
	ld.global.u16 	%rs1, [%rd65];
	// begin inline asm
	cvt.f32.f16 %f89, %rs1;
	// end inline asm
	add.f32 	%f197, %f89, 0f00000000;
	ld.global.u16 	%rs2, [%rd66];
	// begin inline asm
	cvt.f32.f16 %f90, %rs2;
	// end inline asm
	add.f32 	%f196, %f90, 0f00000000;
	ld.global.u16 	%rs3, [%rd67];
	// begin inline asm
	cvt.f32.f16 %f91, %rs3;
	// end inline asm
	add.f32 	%f195, %f91, 0f00000000;
	ld.global.u16 	%rs4, [%rd68];
	// begin inline asm
	cvt.f32.f16 %f92, %rs4;
	// end inline asm
	add.f32 	%f194, %f92, 0f00000000;
	mov.u64 	%rd271, %rd52;
	@%p14 bra 	$L__BB10_26;
	ld.param.u64 	%rd249, [block_lstm_sums_f16_param_0+64];
	mul.lo.s64 	%rd248, %rd266, %rd242;
	add.s64 	%rd271, %rd244, 2;
	setp.eq.s64 	%p15, %rd46, 2;
	add.s64 	%rd143, %rd53, %rd270;
	shl.b64 	%rd144, %rd143, 1;
	add.s64 	%rd145, %rd11, %rd144;
	ld.global.u16 	%rs5, [%rd145];
	// begin inline asm
	cvt.f32.f16 %f93, %rs5;
	// end inline asm
	add.f32 	%f197, %f93, %f197;
	add.s64 	%rd146, %rd145, %rd22;
	ld.global.u16 	%rs6, [%rd146];
	// begin inline asm
	cvt.f32.f16 %f94, %rs6;
	// end inline asm
	add.f32 	%f196, %f94, %f196;
	add.s64 	%rd147, %rd146, %rd22;
	ld.global.u16 	%rs7, [%rd147];
	// begin inline asm
	cvt.f32.f16 %f95, %rs7;
	// end inline asm
	add.f32 	%f195, %f95, %f195;
	add.s64 	%rd148, %rd147, %rd22;
	ld.global.u16 	%rs8, [%rd148];
	// begin inline asm
	cvt.f32.f16 %f96, %rs8;
	// end inline asm
	add.f32 	%f194, %f96, %f194;
	@%p15 bra 	$L__BB10_26;
	ld.param.u64 	%rd252, [block_lstm_sums_f16_param_0+64];
	mul.lo.s64 	%rd251, %rd266, %rd242;
	add.s64 	%rd271, %rd244, 3;
	add.s64 	%rd149, %rd56, %rd270;
	shl.b64 	%rd150, %rd149, 1;
	add.s64 	%rd151, %rd11, %rd150;
	ld.global.u16 	%rs9, [%rd151];
	// begin inline asm
	cvt.f32.f16 %f97, %rs9;
	// end inline asm
	add.f32 	%f197, %f97, %f197;
	add.s64 	%rd152, %rd151, %rd22;
	ld.global.u16 	%rs10, [%rd152];
	// begin inline asm
	cvt.f32.f16 %f98, %rs10;
	// end inline asm
	add.f32 	%f196, %f98, %f196;
	add.s64 	%rd153, %rd152, %rd22;
	ld.global.u16 	%rs11, [%rd153];
	// begin inline asm
	cvt.f32.f16 %f99, %rs11;
	// end inline asm
	add.f32 	%f195, %f99, %f195;
	add.s64 	%rd154, %rd153, %rd22;
	ld.global.u16 	%rs12, [%rd154];
	// begin inline asm
	cvt.f32.f16 %f100, %rs12;
	// end inline asm
	add.f32 	%f194, %f100, %f194;
$L__BB10_26:
	mov.f32 	%f191, 0f00000000;
	sub.s64 	%rd253, %rd30, %rd29;
	setp.lt.u64 	%p16, %rd253, 3;
	mov.f32 	%f192, %f191;
	mov.f32 	%f193, %f191;
	@%p16 bra 	$L__BB10_42;
	shl.b64 	%rd255, %rd13, 1;
	shl.b64 	%rd254, %rd91, 3;
	mul.lo.s64 	%rd155, %rd254, %rd271;
	mul.lo.s64 	%rd156, %rd255, %rd269;
	add.s64 	%rd157, %rd23, %rd156;
	add.s64 	%rd158, %rd11, %rd157;
	add.s64 	%rd273, %rd158, %rd155;
$L__BB10_28:
	mov.f32 	%f191, 0f00000000;
	ld.global.u16 	%rs13, [%rd273];
	// begin inline asm
	cvt.f32.f16 %f104, %rs13;
	// end inline asm
	add.f32 	%f123, %f104, %f197;
	add.s64 	%rd159, %rd273, %rd22;
	ld.global.u16 	%rs14, [%rd159];
	// begin inline asm
	cvt.f32.f16 %f105, %rs14;
	// end inline asm
	add.f32 	%f124, %f105, %f196;
	add.s64 	%rd160, %rd159, %rd22;
	ld.global.u16 	%rs15, [%rd160];
	// begin inline asm
	cvt.f32.f16 %f106, %rs15;
	// end inline asm
	add.f32 	%f125, %f106, %f195;
	add.s64 	%rd161, %rd160, %rd22;
	ld.global.u16 	%rs16, [%rd161];
	// begin inline asm
	cvt.f32.f16 %f107, %rs16;
	// end inline asm
	add.f32 	%f126, %f107, %f194;
	add.s64 	%rd162, %rd161, %rd22;
	ld.global.u16 	%rs17, [%rd162];
	// begin inline asm
	cvt.f32.f16 %f108, %rs17;
	// end inline asm
	add.f32 	%f127, %f108, %f123;
	add.s64 	%rd163, %rd162, %rd22;
	ld.global.u16 	%rs18, [%rd163];
	// begin inline asm
	cvt.f32.f16 %f109, %rs18;
	// end inline asm
	add.f32 	%f128, %f109, %f124;
	add.s64 	%rd164, %rd163, %rd22;
	ld.global.u16 	%rs19, [%rd164];
	// begin inline asm
	cvt.f32.f16 %f110, %rs19;
	// end inline asm
	add.f32 	%f129, %f110, %f125;
	add.s64 	%rd165, %rd164, %rd22;
	ld.global.u16 	%rs20, [%rd165];
	// begin inline asm
	cvt.f32.f16 %f111, %rs20;
	// end inline asm
	add.f32 	%f130, %f111, %f126;
	add.s64 	%rd166, %rd165, %rd22;
	ld.global.u16 	%rs21, [%rd166];
	// begin inline asm
	cvt.f32.f16 %f112, %rs21;
	// end inline asm
	add.f32 	%f131, %f112, %f127;
	add.s64 	%rd167, %rd166, %rd22;
	ld.global.u16 	%rs22, [%rd167];
	// begin inline asm
	cvt.f32.f16 %f113, %rs22;
	// end inline asm
	add.f32 	%f132, %f113, %f128;
	add.s64 	%rd168, %rd167, %rd22;
	ld.global.u16 	%rs23, [%rd168];
	// begin inline asm
	cvt.f32.f16 %f114, %rs23;
	// end inline asm
	add.f32 	%f133, %f114, %f129;
	add.s64 	%rd169, %rd168, %rd22;
	ld.global.u16 	%rs24, [%rd169];
	// begin inline asm
	cvt.f32.f16 %f115, %rs24;
	// end inline asm
	add.f32 	%f134, %f115, %f130;
	add.s64 	%rd170, %rd169, %rd22;
	ld.global.u16 	%rs25, [%rd170];
	// begin inline asm
	cvt.f32.f16 %f116, %rs25;
	// end inline asm
	add.f32 	%f197, %f116, %f131;
	add.s64 	%rd171, %rd170, %rd22;
	ld.global.u16 	%rs26, [%rd171];
	// begin inline asm
	cvt.f32.f16 %f117, %rs26;
	// end inline asm
	add.f32 	%f196, %f117, %f132;
	add.s64 	%rd172, %rd171, %rd22;
	ld.global.u16 	%rs27, [%rd172];
	// begin inline asm
	cvt.f32.f16 %f118, %rs27;
	// end inline asm
	add.f32 	%f195, %f118, %f133;
	add.s64 	%rd173, %rd172, %rd22;
	add.s64 	%rd273, %rd173, %rd22;
	ld.global.u16 	%rs28, [%rd173];
	// begin inline asm
	cvt.f32.f16 %f119, %rs28;
	// end inline asm
	add.f32 	%f194, %f119, %f134;
	add.s64 	%rd271, %rd271, 4;
	setp.lt.s64 	%p17, %rd271, %rd32;
	mov.f32 	%f192, %f191;
	mov.f32 	%f193, %f191;
	@%p17 bra 	$L__BB10_28;
	bra.uni 	$L__BB10_42;
$L__BB10_31:
	add.s64 	%rd174, %rd49, %rd270;
	shl.b64 	%rd175, %rd174, 1;
	add.s64 	%rd176, %rd8, %rd175;
	ld.global.u16 	%rs33, [%rd176];
	// begin inline asm
	cvt.f32.f16 %f174, %rs33;
	// end inline asm
$L__BB10_33:
	fma.rn.f32 	%f193, %f174, %f142, 0f00000000;
	fma.rn.f32 	%f192, %f174, %f143, 0f00000000;
	add.s64 	%rd180, %rd48, %rd270;
	shl.b64 	%rd181, %rd180, 1;
	add.s64 	%rd182, %rd8, %rd181;
	ld.global.u16 	%rs35, [%rd182];
	// begin inline asm
	cvt.f32.f16 %f148, %rs35;
	// end inline asm
	fma.rn.f32 	%f191, %f145, %f148, 0f00000000;
	add.f32 	%f194, %f145, 0f00000000;
	add.f32 	%f195, %f144, 0f00000000;
	add.f32 	%f196, %f143, 0f00000000;
	add.f32 	%f197, %f142, 0f00000000;
	mov.u64 	%rd275, %rd52;
$L__BB10_34:
	setp.eq.s64 	%p20, %rd30, %rd29;
	@%p20 bra 	$L__BB10_42;
$L__BB10_35:
	mul.lo.s64 	%rd183, %rd275, %rd91;
	shl.b64 	%rd184, %rd183, 2;
	add.s64 	%rd185, %rd184, %rd270;
	shl.b64 	%rd186, %rd185, 1;
	add.s64 	%rd187, %rd11, %rd186;
	ld.global.u16 	%rs36, [%rd187];
	// begin inline asm
	cvt.f32.f16 %f149, %rs36;
	// end inline asm
	add.f32 	%f54, %f149, %f197;
	add.s64 	%rd188, %rd187, %rd22;
	ld.global.u16 	%rs37, [%rd188];
	// begin inline asm
	cvt.f32.f16 %f150, %rs37;
	// end inline asm
	add.f32 	%f56, %f150, %f196;
	add.s64 	%rd189, %rd188, %rd22;
	ld.global.u16 	%rs38, [%rd189];
	// begin inline asm
	cvt.f32.f16 %f151, %rs38;
	// end inline asm
	add.f32 	%f57, %f151, %f195;
	add.s64 	%rd190, %rd189, %rd22;
	ld.global.u16 	%rs39, [%rd190];
	// begin inline asm
	cvt.f32.f16 %f152, %rs39;
	// end inline asm
	setp.lt.s64 	%p21, %rd275, %rd90;
	@%p21 bra 	$L__BB10_37;
	bra.uni 	$L__BB10_36;
$L__BB10_37:
	add.s64 	%rd197, %rd183, %rd270;
	shl.b64 	%rd198, %rd197, 1;
	add.s64 	%rd199, %rd10, %rd198;
	ld.global.u16 	%rs41, [%rd199];
	// begin inline asm
	cvt.f32.f16 %f189, %rs41;
	// end inline asm
	bra.uni 	$L__BB10_38;
$L__BB10_36:
	sub.s64 	%rd191, %rd275, %rd90;
	mul.lo.s64 	%rd192, %rd191, %rd91;
	add.s64 	%rd193, %rd192, %rd270;
	shl.b64 	%rd194, %rd193, 1;
	add.s64 	%rd195, %rd8, %rd194;
	ld.global.u16 	%rs40, [%rd195];
	// begin inline asm
	cvt.f32.f16 %f189, %rs40;
	// end inline asm
$L__BB10_38:
	add.s64 	%rd77, %rd183, %rd270;
	fma.rn.f32 	%f62, %f189, %f149, %f193;
	fma.rn.f32 	%f63, %f189, %f150, %f192;
	shl.b64 	%rd201, %rd77, 1;
	add.s64 	%rd78, %rd8, %rd201;
	ld.global.u16 	%rs42, [%rd78];
	// begin inline asm
	cvt.f32.f16 %f155, %rs42;
	// end inline asm
	fma.rn.f32 	%f64, %f152, %f155, %f191;
	add.s64 	%rd79, %rd275, 1;
	mul.lo.s64 	%rd202, %rd79, %rd91;
	shl.b64 	%rd203, %rd202, 2;
	add.s64 	%rd204, %rd203, %rd270;
	shl.b64 	%rd205, %rd204, 1;
	add.s64 	%rd206, %rd11, %rd205;
	ld.global.u16 	%rs43, [%rd206];
	// begin inline asm
	cvt.f32.f16 %f156, %rs43;
	// end inline asm
	add.f32 	%f197, %f156, %f54;
	add.s64 	%rd207, %rd206, %rd22;
	ld.global.u16 	%rs44, [%rd207];
	// begin inline asm
	cvt.f32.f16 %f157, %rs44;
	// end inline asm
	add.f32 	%f196, %f157, %f56;
	add.s64 	%rd208, %rd207, %rd22;
	ld.global.u16 	%rs45, [%rd208];
	// begin inline asm
	cvt.f32.f16 %f158, %rs45;
	// end inline asm
	add.f32 	%f195, %f158, %f57;
	add.s64 	%rd209, %rd208, %rd22;
	ld.global.u16 	%rs46, [%rd209];
	// begin inline asm
	cvt.f32.f16 %f159, %rs46;
	// end inline asm
	add.f32 	%f160, %f152, %f194;
	add.f32 	%f194, %f159, %f160;
	setp.lt.s64 	%p22, %rd79, %rd90;
	@%p22 bra 	$L__BB10_40;
	bra.uni 	$L__BB10_39;
$L__BB10_40:
	add.s64 	%rd215, %rd77, %rd91;
	shl.b64 	%rd216, %rd215, 1;
	add.s64 	%rd217, %rd10, %rd216;
	ld.global.u16 	%rs48, [%rd217];
	// begin inline asm
	cvt.f32.f16 %f190, %rs48;
	// end inline asm
	bra.uni 	$L__BB10_41;
$L__BB10_39:
	sub.s64 	%rd210, %rd79, %rd90;
	mul.lo.s64 	%rd211, %rd210, %rd91;
	add.s64 	%rd212, %rd211, %rd270;
	shl.b64 	%rd213, %rd212, 1;
	add.s64 	%rd214, %rd8, %rd213;
	ld.global.u16 	%rs47, [%rd214];
	// begin inline asm
	cvt.f32.f16 %f190, %rs47;
	// end inline asm
$L__BB10_41:
	fma.rn.f32 	%f193, %f190, %f156, %f62;
	fma.rn.f32 	%f192, %f190, %f157, %f63;
	add.s64 	%rd219, %rd78, %rd22;
	ld.global.u16 	%rs49, [%rd219];
	// begin inline asm
	cvt.f32.f16 %f163, %rs49;
	// end inline asm
	fma.rn.f32 	%f191, %f159, %f163, %f64;
	add.s64 	%rd275, %rd275, 2;
	setp.lt.s64 	%p23, %rd275, %rd32;
	@%p23 bra 	$L__BB10_35;
$L__BB10_42:
	setp.lt.s64 	%p24, %rd94, 1;
	@%p24 bra 	$L__BB10_44;
	mul.lo.s64 	%rd264, %rd266, %rd94;
	mul.lo.s64 	%rd263, %rd246, %rd91;
	add.s64 	%rd220, %rd263, %rd270;
	shl.b64 	%rd221, %rd220, 2;
	add.s64 	%rd222, %rd9, %rd221;
	st.global.f32 	[%rd222], %f197;
$L__BB10_44:
	setp.lt.s64 	%p25, %rd94, 2;
	@%p25 bra 	$L__BB10_46;
	mul.lo.s64 	%rd262, %rd266, %rd94;
	mul.lo.s64 	%rd261, %rd246, %rd91;
	add.s64 	%rd260, %rd261, %rd91;
	add.s64 	%rd223, %rd260, %rd270;
	shl.b64 	%rd224, %rd223, 2;
	add.s64 	%rd225, %rd9, %rd224;
	st.global.f32 	[%rd225], %f196;
$L__BB10_46:
	setp.lt.s64 	%p26, %rd94, 3;
	@%p26 bra 	$L__BB10_48;
	mul.lo.s64 	%rd259, %rd266, %rd94;
	mul.lo.s64 	%rd258, %rd246, %rd91;
	add.s64 	%rd257, %rd258, %rd91;
	add.s64 	%rd256, %rd257, %rd91;
	add.s64 	%rd226, %rd256, %rd270;
	shl.b64 	%rd227, %rd226, 2;
	add.s64 	%rd228, %rd9, %rd227;
	st.global.f32 	[%rd228], %f195;
$L__BB10_48:
	setp.lt.s64 	%p27, %rd94, 4;
	@%p27 bra 	$L__BB10_50;
	add.s64 	%rd229, %rd58, %rd270;
	shl.b64 	%rd230, %rd229, 2;
	add.s64 	%rd231, %rd9, %rd230;
	st.global.f32 	[%rd231], %f194;
$L__BB10_50:
	setp.lt.s64 	%p28, %rd94, 5;
	@%p28 bra 	$L__BB10_52;
	add.s64 	%rd232, %rd59, %rd270;
	shl.b64 	%rd233, %rd232, 2;
	add.s64 	%rd234, %rd9, %rd233;
	st.global.f32 	[%rd234], %f193;
$L__BB10_52:
	setp.lt.s64 	%p29, %rd94, 6;
	@%p29 bra 	$L__BB10_54;
	add.s64 	%rd235, %rd60, %rd270;
	shl.b64 	%rd236, %rd235, 2;
	add.s64 	%rd237, %rd9, %rd236;
	st.global.f32 	[%rd237], %f192;
$L__BB10_54:
	setp.lt.s64 	%p30, %rd94, 7;
	@%p30 bra 	$L__BB10_56;
	add.s64 	%rd238, %rd61, %rd270;
	shl.b64 	%rd239, %rd238, 2;
	add.s64 	%rd240, %rd9, %rd239;
	st.global.f32 	[%rd240], %f191;
$L__BB10_56:
	add.s64 	%rd270, %rd270, %rd13;
	setp.lt.s64 	%p31, %rd270, %rd91;
	add.s64 	%rd269, %rd269, 1;
	@%p31 bra 	$L__BB10_21;
	bra.uni 	$L__BB10_57;
$L__BB10_4:
	mul.lo.s64 	%rd106, %rd33, %rd91;
	add.s64 	%rd107, %rd33, 6;
	mul.lo.s64 	%rd108, %rd91, %rd107;
	add.s64 	%rd109, %rd12, %rd108;
	shl.b64 	%rd34, %rd109, 2;
	add.s64 	%rd110, %rd33, 5;
	mul.lo.s64 	%rd111, %rd91, %rd110;
	add.s64 	%rd112, %rd12, %rd111;
	shl.b64 	%rd35, %rd112, 2;
	add.s64 	%rd113, %rd33, 4;
	mul.lo.s64 	%rd114, %rd91, %rd113;
	add.s64 	%rd115, %rd12, %rd114;
	shl.b64 	%rd36, %rd115, 2;
	add.s64 	%rd116, %rd33, 3;
	mul.lo.s64 	%rd117, %rd91, %rd116;
	add.s64 	%rd118, %rd12, %rd117;
	shl.b64 	%rd37, %rd118, 2;
	add.s64 	%rd119, %rd33, 2;
	mul.lo.s64 	%rd120, %rd91, %rd119;
	add.s64 	%rd121, %rd12, %rd120;
	shl.b64 	%rd38, %rd121, 2;
	add.s64 	%rd122, %rd33, 1;
	mul.lo.s64 	%rd123, %rd91, %rd122;
	add.s64 	%rd124, %rd12, %rd123;
	shl.b64 	%rd39, %rd124, 2;
	add.s64 	%rd125, %rd12, %rd106;
	shl.b64 	%rd40, %rd125, 2;
	mov.u64 	%rd267, %rd9;
	mov.u64 	%rd268, %rd12;
$L__BB10_5:
	.pragma "nounroll";
	setp.lt.s64 	%p4, %rd94, 1;
	@%p4 bra 	$L__BB10_7;
	add.s64 	%rd126, %rd267, %rd40;
	mov.u32 	%r7, 0;
	st.global.u32 	[%rd126], %r7;
$L__BB10_7:
	setp.lt.s64 	%p5, %rd94, 2;
	@%p5 bra 	$L__BB10_9;
	add.s64 	%rd127, %rd267, %rd39;
	mov.u32 	%r8, 0;
	st.global.u32 	[%rd127], %r8;
$L__BB10_9:
	setp.lt.s64 	%p6, %rd94, 3;
	@%p6 bra 	$L__BB10_11;
	add.s64 	%rd128, %rd267, %rd38;
	mov.u32 	%r9, 0;
	st.global.u32 	[%rd128], %r9;
$L__BB10_11:
	setp.lt.s64 	%p7, %rd94, 4;
	@%p7 bra 	$L__BB10_13;
	add.s64 	%rd129, %rd267, %rd37;
	mov.u32 	%r10, 0;
	st.global.u32 	[%rd129], %r10;
$L__BB10_13:
	setp.lt.s64 	%p8, %rd94, 5;
	@%p8 bra 	$L__BB10_15;
	add.s64 	%rd130, %rd267, %rd36;
	mov.u32 	%r11, 0;
	st.global.u32 	[%rd130], %r11;
$L__BB10_15:
	setp.lt.s64 	%p9, %rd94, 6;
	@%p9 bra 	$L__BB10_17;
	add.s64 	%rd131, %rd267, %rd35;
	mov.u32 	%r12, 0;
	st.global.u32 	[%rd131], %r12;
$L__BB10_17:
	setp.lt.s64 	%p10, %rd94, 7;
	@%p10 bra 	$L__BB10_19;
	add.s64 	%rd132, %rd267, %rd34;
	mov.u32 	%r13, 0;
	st.global.u32 	[%rd132], %r13;
$L__BB10_19:
	add.s64 	%rd267, %rd267, %rd21;
	add.s64 	%rd268, %rd268, %rd13;
	setp.lt.s64 	%p11, %rd268, %rd91;
	@%p11 bra 	$L__BB10_5;
$L__BB10_57:
	ld.param.u64 	%rd241, [block_lstm_sums_f16_param_0+56];
	add.s64 	%rd266, %rd266, %rd14;
	setp.lt.s64 	%p32, %rd266, %rd241;
	add.s64 	%rd265, %rd265, 1;
	@%p32 bra 	$L__BB10_2;
$L__BB10_58:
	ret;
}
	// .globl	block_lstm_finish_sums_f16
.visible .entry block_lstm_finish_sums_f16(
	.param .align 8 .b8 block_lstm_finish_sums_f16_param_0[64]
)
{
	.reg .pred 	%p<23>;
	.reg .b16 	%rs<4>;
	.reg .f32 	%f<29>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<85>;
	ld.param.u64 	%rd50, [block_lstm_finish_sums_f16_param_0+56];
	ld.param.u64 	%rd49, [block_lstm_finish_sums_f16_param_0+48];
	ld.param.u64 	%rd48, [block_lstm_finish_sums_f16_param_0+40];
	ld.param.u64 	%rd47, [block_lstm_finish_sums_f16_param_0+32];
	ld.param.u64 	%rd46, [block_lstm_finish_sums_f16_param_0+24];
	ld.param.u64 	%rd45, [block_lstm_finish_sums_f16_param_0+16];
	ld.param.u64 	%rd44, [block_lstm_finish_sums_f16_param_0+8];
	ld.param.u64 	%rd43, [block_lstm_finish_sums_f16_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd75, %r1;
	setp.le.s64 	%p1, %rd50, %rd75;
	@%p1 bra 	$L__BB11_29;
	cvta.to.global.u64 	%rd9, %rd43;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd51, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd52, %r4;
	add.s64 	%rd10, %rd51, %rd52;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd11, %r5, %r3;
	mul.lo.s64 	%rd12, %rd48, %rd50;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd13, %r6;
	setp.gt.s64 	%p2, %rd49, 0;
	@%p2 bra 	$L__BB11_13;
	bra.uni 	$L__BB11_2;
$L__BB11_13:
	add.s64 	%rd23, %rd49, -1;
	and.b64  	%rd24, %rd49, 3;
	sub.s64 	%rd25, %rd24, %rd49;
	mul.lo.s64 	%rd58, %rd50, %rd48;
	shl.b64 	%rd26, %rd58, 2;
$L__BB11_14:
	.pragma "nounroll";
	setp.lt.u64 	%p11, %rd75, 4;
	mov.u64 	%rd80, %rd44;
	@%p11 bra 	$L__BB11_18;
	setp.eq.s64 	%p12, %rd75, 4;
	mov.u64 	%rd80, %rd45;
	@%p12 bra 	$L__BB11_18;
	setp.ne.s64 	%p13, %rd75, 5;
	mov.u64 	%rd80, %rd46;
	@%p13 bra 	$L__BB11_17;
	bra.uni 	$L__BB11_18;
$L__BB11_17:
	mov.u64 	%rd80, %rd47;
$L__BB11_18:
	setp.ge.s64 	%p14, %rd10, %rd48;
	@%p14 bra 	$L__BB11_28;
	cvta.to.global.u64 	%rd29, %rd80;
	mul.lo.s64 	%rd30, %rd75, %rd48;
	mov.u64 	%rd81, %rd10;
$L__BB11_20:
	.pragma "nounroll";
	add.s64 	%rd32, %rd81, %rd30;
	setp.lt.u64 	%p15, %rd23, 3;
	mov.f32 	%f28, 0f00000000;
	mov.u64 	%rd84, 0;
	@%p15 bra 	$L__BB11_23;
	shl.b64 	%rd61, %rd32, 2;
	add.s64 	%rd82, %rd9, %rd61;
	mov.f32 	%f28, 0f00000000;
	mov.u64 	%rd84, 0;
$L__BB11_22:
	ld.global.f32 	%f14, [%rd82];
	add.f32 	%f15, %f28, %f14;
	add.s64 	%rd62, %rd82, %rd26;
	ld.global.f32 	%f16, [%rd62];
	add.f32 	%f17, %f15, %f16;
	add.s64 	%rd63, %rd62, %rd26;
	ld.global.f32 	%f18, [%rd63];
	add.f32 	%f19, %f17, %f18;
	add.s64 	%rd64, %rd63, %rd26;
	add.s64 	%rd82, %rd64, %rd26;
	ld.global.f32 	%f20, [%rd64];
	add.f32 	%f28, %f19, %f20;
	add.s64 	%rd84, %rd84, 4;
	add.s64 	%rd65, %rd25, %rd84;
	setp.ne.s64 	%p16, %rd65, 0;
	@%p16 bra 	$L__BB11_22;
$L__BB11_23:
	setp.eq.s64 	%p17, %rd24, 0;
	@%p17 bra 	$L__BB11_27;
	setp.eq.s64 	%p18, %rd24, 1;
	mul.lo.s64 	%rd66, %rd12, %rd84;
	add.s64 	%rd67, %rd66, %rd32;
	shl.b64 	%rd68, %rd67, 2;
	add.s64 	%rd39, %rd9, %rd68;
	ld.global.f32 	%f21, [%rd39];
	add.f32 	%f28, %f28, %f21;
	@%p18 bra 	$L__BB11_27;
	setp.eq.s64 	%p19, %rd24, 2;
	shl.b64 	%rd69, %rd12, 2;
	add.s64 	%rd40, %rd39, %rd69;
	ld.global.f32 	%f22, [%rd40];
	add.f32 	%f28, %f28, %f22;
	@%p19 bra 	$L__BB11_27;
	add.s64 	%rd71, %rd40, %rd69;
	ld.global.f32 	%f23, [%rd71];
	add.f32 	%f28, %f28, %f23;
$L__BB11_27:
	selp.b64 	%rd72, %rd32, %rd81, %p11;
	// begin inline asm
	cvt.rn.f16.f32 %rs3, %f28;
	// end inline asm
	shl.b64 	%rd73, %rd72, 1;
	add.s64 	%rd74, %rd29, %rd73;
	st.global.u16 	[%rd74], %rs3;
	add.s64 	%rd81, %rd81, %rd11;
	setp.lt.s64 	%p21, %rd81, %rd48;
	@%p21 bra 	$L__BB11_20;
$L__BB11_28:
	add.s64 	%rd75, %rd75, %rd13;
	setp.lt.s64 	%p22, %rd75, %rd50;
	@%p22 bra 	$L__BB11_14;
	bra.uni 	$L__BB11_29;
$L__BB11_2:
	.pragma "nounroll";
	setp.lt.u64 	%p3, %rd75, 4;
	mov.u64 	%rd76, %rd44;
	@%p3 bra 	$L__BB11_6;
	setp.eq.s64 	%p4, %rd75, 4;
	mov.u64 	%rd76, %rd45;
	@%p4 bra 	$L__BB11_6;
	setp.ne.s64 	%p5, %rd75, 5;
	mov.u64 	%rd76, %rd46;
	@%p5 bra 	$L__BB11_5;
	bra.uni 	$L__BB11_6;
$L__BB11_5:
	mov.u64 	%rd76, %rd47;
$L__BB11_6:
	setp.ge.s64 	%p6, %rd10, %rd48;
	@%p6 bra 	$L__BB11_12;
	cvta.to.global.u64 	%rd16, %rd76;
	@%p3 bra 	$L__BB11_10;
	bra.uni 	$L__BB11_8;
$L__BB11_10:
	mul.lo.s64 	%rd19, %rd75, %rd48;
	mov.u64 	%rd78, %rd10;
$L__BB11_11:
	.pragma "nounroll";
	mov.f32 	%f10, 0f00000000;
	// begin inline asm
	cvt.rn.f16.f32 %rs2, %f10;
	// end inline asm
	add.s64 	%rd55, %rd78, %rd19;
	shl.b64 	%rd56, %rd55, 1;
	add.s64 	%rd57, %rd16, %rd56;
	st.global.u16 	[%rd57], %rs2;
	add.s64 	%rd78, %rd78, %rd11;
	setp.lt.s64 	%p9, %rd78, %rd48;
	@%p9 bra 	$L__BB11_11;
	bra.uni 	$L__BB11_12;
$L__BB11_8:
	mov.u64 	%rd77, %rd10;
$L__BB11_9:
	.pragma "nounroll";
	mov.f32 	%f9, 0f00000000;
	// begin inline asm
	cvt.rn.f16.f32 %rs1, %f9;
	// end inline asm
	shl.b64 	%rd53, %rd77, 1;
	add.s64 	%rd54, %rd16, %rd53;
	st.global.u16 	[%rd54], %rs1;
	add.s64 	%rd77, %rd77, %rd11;
	setp.lt.s64 	%p8, %rd77, %rd48;
	@%p8 bra 	$L__BB11_9;
$L__BB11_12:
	add.s64 	%rd75, %rd75, %rd13;
	setp.lt.s64 	%p10, %rd75, %rd50;
	@%p10 bra 	$L__BB11_2;
$L__BB11_29:
	ret;
}
	// .globl	block_lstm_forward_bf16
.visible .entry block_lstm_forward_bf16(
	.param .align 8 .b8 block_lstm_forward_bf16_param_0[136]
)
{
	.reg .pred 	%p<22>;
	.reg .b16 	%rs<15>;
	.reg .f32 	%f<126>;
	.reg .b32 	%r<69>;
	.reg .b64 	%rd<109>;
	mov.b64 	%rd49, block_lstm_forward_bf16_param_0;
	add.s64 	%rd1, %rd49, 120;
	ld.param.u64 	%rd2, [block_lstm_forward_bf16_param_0+120];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd105, %r1;
	ld.param.u64 	%rd4, [block_lstm_forward_bf16_param_0+112];
	setp.le.s64 	%p1, %rd4, %rd105;
	@%p1 bra 	$L__BB12_12;
	ld.param.u64 	%rd51, [%rd1+-120];
	cvta.to.global.u64 	%rd5, %rd51;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd52, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd53, %r4;
	add.s64 	%rd6, %rd52, %rd53;
	ld.param.u64 	%rd54, [%rd1+-80];
	cvta.to.global.u64 	%rd7, %rd54;
	ld.param.u64 	%rd55, [%rd1+-112];
	cvta.to.global.u64 	%rd56, %rd55;
	ld.param.u64 	%rd8, [%rd1+-104];
	ld.param.f32 	%f1, [%rd1+8];
	neg.f32 	%f2, %f1;
	ld.param.u64 	%rd9, [%rd1+-88];
	cvta.to.global.u64 	%rd57, %rd8;
	ld.param.u64 	%rd58, [%rd1+-96];
	cvta.to.global.u64 	%rd59, %rd58;
	ld.param.u64 	%rd60, [%rd1+-64];
	cvta.to.global.u64 	%rd61, %rd60;
	ld.param.u64 	%rd62, [%rd1+-56];
	cvta.to.global.u64 	%rd63, %rd62;
	ld.param.u64 	%rd64, [%rd1+-48];
	cvta.to.global.u64 	%rd65, %rd64;
	ld.param.u64 	%rd66, [%rd1+-40];
	cvta.to.global.u64 	%rd67, %rd66;
	ld.param.u64 	%rd68, [%rd1+-32];
	cvta.to.global.u64 	%rd69, %rd68;
	ld.param.u64 	%rd70, [%rd1+-24];
	cvta.to.global.u64 	%rd71, %rd70;
	ld.param.u64 	%rd72, [%rd1+-16];
	cvta.to.global.u64 	%rd73, %rd72;
	ld.param.u64 	%rd10, [%rd1+-72];
	cvta.to.global.u64 	%rd74, %rd9;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd11, %r5, %r3;
	cvta.to.global.u64 	%rd12, %rd10;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd13, %r6;
	mul.wide.u32 	%rd75, %r4, 2;
	add.s64 	%rd14, %rd74, %rd75;
	shl.b64 	%rd15, %rd52, 1;
	shl.b64 	%rd16, %rd11, 1;
	add.s64 	%rd17, %rd59, %rd75;
	add.s64 	%rd18, %rd57, %rd75;
	add.s64 	%rd20, %rd56, %rd75;
	shl.b64 	%rd76, %rd52, 2;
	mul.wide.u32 	%rd77, %r4, 4;
	add.s64 	%rd21, %rd76, %rd77;
	shl.b64 	%rd22, %rd11, 2;
	add.s64 	%rd23, %rd73, %rd75;
	add.s64 	%rd24, %rd71, %rd75;
	add.s64 	%rd25, %rd69, %rd75;
	add.s64 	%rd26, %rd67, %rd75;
	add.s64 	%rd27, %rd65, %rd75;
	add.s64 	%rd28, %rd63, %rd75;
	add.s64 	%rd29, %rd61, %rd75;
	shl.b64 	%rd30, %rd2, 2;
$L__BB12_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd6, %rd2;
	@%p2 bra 	$L__BB12_11;
	mul.lo.s64 	%rd78, %rd2, %rd105;
	shl.b64 	%rd79, %rd78, 2;
	add.s64 	%rd32, %rd12, %rd79;
	shl.b64 	%rd80, %rd78, 1;
	add.s64 	%rd33, %rd23, %rd80;
	add.s64 	%rd34, %rd24, %rd80;
	add.s64 	%rd35, %rd25, %rd80;
	add.s64 	%rd36, %rd26, %rd80;
	add.s64 	%rd37, %rd27, %rd80;
	add.s64 	%rd38, %rd28, %rd80;
	add.s64 	%rd39, %rd29, %rd80;
	add.s64 	%rd40, %rd7, %rd79;
	mul.lo.s64 	%rd81, %rd30, %rd105;
	shl.b64 	%rd82, %rd81, 2;
	add.s64 	%rd41, %rd5, %rd82;
	mov.u64 	%rd106, %rd21;
	mov.u64 	%rd107, %rd15;
	mov.u64 	%rd108, %rd6;
$L__BB12_4:
	.pragma "nounroll";
	shl.b64 	%rd104, %rd2, 1;
	add.s64 	%rd83, %rd40, %rd106;
	ld.global.f32 	%f3, [%rd83];
	add.s64 	%rd84, %rd41, %rd106;
	add.s64 	%rd85, %rd20, %rd107;
	ld.global.u16 	%r7, [%rd85];
	shl.b32 	%r8, %r7, 16;
	mov.b32 	%f18, %r8;
	ld.global.f32 	%f19, [%rd84];
	add.f32 	%f123, %f19, %f18;
	add.s64 	%rd86, %rd84, %rd30;
	add.s64 	%rd87, %rd85, %rd104;
	ld.global.u16 	%r9, [%rd87];
	shl.b32 	%r10, %r9, 16;
	mov.b32 	%f20, %r10;
	ld.global.f32 	%f21, [%rd86];
	add.f32 	%f124, %f21, %f20;
	add.s64 	%rd88, %rd86, %rd30;
	add.s64 	%rd89, %rd87, %rd104;
	ld.global.u16 	%r11, [%rd89];
	shl.b32 	%r12, %r11, 16;
	mov.b32 	%f22, %r12;
	ld.global.f32 	%f23, [%rd88];
	add.f32 	%f6, %f23, %f22;
	add.s64 	%rd90, %rd88, %rd30;
	add.s64 	%rd91, %rd89, %rd104;
	ld.global.u16 	%r13, [%rd91];
	shl.b32 	%r14, %r13, 16;
	mov.b32 	%f24, %r14;
	ld.global.f32 	%f25, [%rd90];
	add.f32 	%f125, %f25, %f24;
	setp.eq.s64 	%p3, %rd8, 0;
	@%p3 bra 	$L__BB12_6;
	add.s64 	%rd92, %rd18, %rd107;
	ld.global.u16 	%r15, [%rd92];
	shl.b32 	%r16, %r15, 16;
	mov.b32 	%f26, %r16;
	fma.rn.f32 	%f123, %f3, %f26, %f123;
	add.s64 	%rd93, %rd17, %rd107;
	ld.global.u16 	%r17, [%rd93];
	shl.b32 	%r18, %r17, 16;
	mov.b32 	%f27, %r18;
	fma.rn.f32 	%f124, %f3, %f27, %f124;
$L__BB12_6:
	neg.f32 	%f28, %f123;
	mov.f32 	%f29, 0f3F000000;
	mov.f32 	%f30, 0f3BBB989D;
	fma.rn.f32 	%f31, %f28, %f30, %f29;
	cvt.sat.f32.f32 	%f32, %f31;
	mov.f32 	%f33, 0f4B400001;
	mov.f32 	%f34, 0f437C0000;
	fma.rm.f32 	%f35, %f32, %f34, %f33;
	add.f32 	%f36, %f35, 0fCB40007F;
	neg.f32 	%f37, %f36;
	mov.f32 	%f38, 0f3FB8AA3B;
	fma.rn.f32 	%f39, %f28, %f38, %f37;
	mov.f32 	%f40, 0f32A57060;
	fma.rn.f32 	%f41, %f28, %f40, %f39;
	mov.b32 	%r19, %f35;
	shl.b32 	%r20, %r19, 23;
	mov.b32 	%f42, %r20;
	ex2.approx.ftz.f32 	%f43, %f41;
	fma.rn.f32 	%f44, %f43, %f42, 0f3F800000;
	mov.f32 	%f45, 0f3F800000;
	rcp.rn.f32 	%f12, %f44;
	neg.f32 	%f46, %f124;
	fma.rn.f32 	%f47, %f46, %f30, %f29;
	cvt.sat.f32.f32 	%f48, %f47;
	fma.rm.f32 	%f49, %f48, %f34, %f33;
	add.f32 	%f50, %f49, 0fCB40007F;
	neg.f32 	%f51, %f50;
	fma.rn.f32 	%f52, %f46, %f38, %f51;
	fma.rn.f32 	%f53, %f46, %f40, %f52;
	mov.b32 	%r21, %f49;
	shl.b32 	%r22, %r21, 23;
	mov.b32 	%f54, %r22;
	ex2.approx.ftz.f32 	%f55, %f53;
	fma.rn.f32 	%f56, %f55, %f54, 0f3F800000;
	rcp.rn.f32 	%f13, %f56;
	abs.f32 	%f57, %f6;
	mul.f32 	%f58, %f57, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f59, %f58;
	add.f32 	%f60, %f59, 0f3F800000;
	rcp.approx.ftz.f32 	%f61, %f60;
	mov.f32 	%f62, 0fC0000000;
	fma.rn.f32 	%f63, %f61, %f62, %f45;
	setp.ge.f32 	%p4, %f57, 0f41102CB4;
	selp.f32 	%f64, 0f3F800000, %f63, %p4;
	mov.b32 	%r23, %f64;
	mov.b32 	%r24, %f6;
	and.b32  	%r25, %r24, -2147483648;
	or.b32  	%r26, %r25, %r23;
	mov.b32 	%f65, %r26;
	mul.f32 	%f66, %f6, %f6;
	mov.f32 	%f67, 0fBD563CAE;
	mov.f32 	%f68, 0f3C80F082;
	fma.rn.f32 	%f69, %f68, %f66, %f67;
	mov.f32 	%f70, 0f3E085941;
	fma.rn.f32 	%f71, %f69, %f66, %f70;
	mov.f32 	%f72, 0fBEAAA9ED;
	fma.rn.f32 	%f73, %f71, %f66, %f72;
	mov.f32 	%f74, 0f00000000;
	fma.rn.f32 	%f75, %f73, %f66, %f74;
	fma.rn.f32 	%f76, %f75, %f6, %f6;
	setp.ge.f32 	%p5, %f57, 0f3F19999A;
	selp.f32 	%f14, %f65, %f76, %p5;
	mul.f32 	%f77, %f12, %f14;
	fma.rn.f32 	%f78, %f3, %f13, %f77;
	setp.gt.f32 	%p6, %f78, %f1;
	setp.lt.f32 	%p7, %f78, %f2;
	selp.f32 	%f79, %f2, %f78, %p7;
	selp.f32 	%f80, %f1, %f79, %p6;
	setp.gt.f32 	%p8, %f1, 0f00000000;
	selp.f32 	%f15, %f80, %f78, %p8;
	setp.eq.s64 	%p9, %rd9, 0;
	@%p9 bra 	$L__BB12_8;
	add.s64 	%rd94, %rd14, %rd107;
	ld.global.u16 	%r27, [%rd94];
	shl.b32 	%r28, %r27, 16;
	mov.b32 	%f81, %r28;
	fma.rn.f32 	%f125, %f15, %f81, %f125;
$L__BB12_8:
	neg.f32 	%f82, %f125;
	fma.rn.f32 	%f85, %f82, %f30, %f29;
	cvt.sat.f32.f32 	%f86, %f85;
	fma.rm.f32 	%f89, %f86, %f34, %f33;
	add.f32 	%f90, %f89, 0fCB40007F;
	neg.f32 	%f91, %f90;
	fma.rn.f32 	%f93, %f82, %f38, %f91;
	fma.rn.f32 	%f95, %f82, %f40, %f93;
	mov.b32 	%r29, %f89;
	shl.b32 	%r30, %r29, 23;
	mov.b32 	%f96, %r30;
	ex2.approx.ftz.f32 	%f97, %f95;
	fma.rn.f32 	%f98, %f97, %f96, 0f3F800000;
	rcp.rn.f32 	%f100, %f98;
	abs.f32 	%f101, %f15;
	mul.f32 	%f102, %f101, 0f4038AA3B;
	ex2.approx.ftz.f32 	%f103, %f102;
	add.f32 	%f104, %f103, 0f3F800000;
	rcp.approx.ftz.f32 	%f105, %f104;
	fma.rn.f32 	%f107, %f105, %f62, %f45;
	setp.ge.f32 	%p10, %f101, 0f41102CB4;
	selp.f32 	%f108, 0f3F800000, %f107, %p10;
	mov.b32 	%r31, %f108;
	mov.b32 	%r32, %f15;
	and.b32  	%r33, %r32, -2147483648;
	or.b32  	%r34, %r33, %r31;
	mov.b32 	%f109, %r34;
	mul.f32 	%f110, %f15, %f15;
	fma.rn.f32 	%f113, %f68, %f110, %f67;
	fma.rn.f32 	%f115, %f113, %f110, %f70;
	fma.rn.f32 	%f117, %f115, %f110, %f72;
	fma.rn.f32 	%f119, %f117, %f110, %f74;
	fma.rn.f32 	%f120, %f119, %f15, %f15;
	setp.ge.f32 	%p11, %f101, 0f3F19999A;
	selp.f32 	%f121, %f109, %f120, %p11;
	mov.b32 	%r35, %f12;
	bfe.u32 	%r36, %r35, 16, 1;
	add.s32 	%r37, %r35, %r36;
	add.s32 	%r38, %r37, 32767;
	shr.u32 	%r39, %r38, 16;
	cvt.u16.u32 	%rs1, %r39;
	setp.nan.f32 	%p12, %f12, %f12;
	selp.b16 	%rs2, 32704, %rs1, %p12;
	add.s64 	%rd95, %rd39, %rd107;
	st.global.u16 	[%rd95], %rs2;
	bfe.u32 	%r40, %r32, 16, 1;
	add.s32 	%r41, %r32, %r40;
	add.s32 	%r42, %r41, 32767;
	shr.u32 	%r43, %r42, 16;
	cvt.u16.u32 	%rs3, %r43;
	setp.nan.f32 	%p13, %f15, %f15;
	selp.b16 	%rs4, 32704, %rs3, %p13;
	add.s64 	%rd96, %rd38, %rd107;
	st.global.u16 	[%rd96], %rs4;
	mov.b32 	%r44, %f13;
	bfe.u32 	%r45, %r44, 16, 1;
	add.s32 	%r46, %r44, %r45;
	add.s32 	%r47, %r46, 32767;
	shr.u32 	%r48, %r47, 16;
	cvt.u16.u32 	%rs5, %r48;
	setp.nan.f32 	%p14, %f13, %f13;
	selp.b16 	%rs6, 32704, %rs5, %p14;
	add.s64 	%rd97, %rd37, %rd107;
	st.global.u16 	[%rd97], %rs6;
	mov.b32 	%r49, %f100;
	bfe.u32 	%r50, %r49, 16, 1;
	add.s32 	%r51, %r49, %r50;
	add.s32 	%r52, %r51, 32767;
	shr.u32 	%r53, %r52, 16;
	setp.nan.f32 	%p15, %f100, %f100;
	cvt.u16.u32 	%rs7, %r53;
	selp.b16 	%rs8, 32704, %rs7, %p15;
	add.s64 	%rd98, %rd36, %rd107;
	st.global.u16 	[%rd98], %rs8;
	mov.b32 	%r54, %f14;
	bfe.u32 	%r55, %r54, 16, 1;
	add.s32 	%r56, %r54, %r55;
	add.s32 	%r57, %r56, 32767;
	shr.u32 	%r58, %r57, 16;
	cvt.u16.u32 	%rs9, %r58;
	setp.nan.f32 	%p16, %f14, %f14;
	selp.b16 	%rs10, 32704, %rs9, %p16;
	add.s64 	%rd99, %rd35, %rd107;
	st.global.u16 	[%rd99], %rs10;
	mov.b32 	%r59, %f121;
	bfe.u32 	%r60, %r59, 16, 1;
	add.s32 	%r61, %r59, %r60;
	add.s32 	%r62, %r61, 32767;
	shr.u32 	%r63, %r62, 16;
	setp.nan.f32 	%p17, %f121, %f121;
	cvt.u16.u32 	%rs11, %r63;
	selp.b16 	%rs12, 32704, %rs11, %p17;
	add.s64 	%rd100, %rd34, %rd107;
	st.global.u16 	[%rd100], %rs12;
	mul.f32 	%f122, %f100, %f121;
	mov.b32 	%r64, %f122;
	bfe.u32 	%r65, %r64, 16, 1;
	add.s32 	%r66, %r64, %r65;
	add.s32 	%r67, %r66, 32767;
	shr.u32 	%r68, %r67, 16;
	setp.nan.f32 	%p18, %f122, %f122;
	cvt.u16.u32 	%rs13, %r68;
	selp.b16 	%rs14, 32704, %rs13, %p18;
	add.s64 	%rd101, %rd33, %rd107;
	st.global.u16 	[%rd101], %rs14;
	setp.eq.s64 	%p19, %rd10, 0;
	@%p19 bra 	$L__BB12_10;
	add.s64 	%rd102, %rd32, %rd106;
	st.global.f32 	[%rd102], %f15;
$L__BB12_10:
	add.s64 	%rd108, %rd108, %rd11;
	add.s64 	%rd107, %rd107, %rd16;
	add.s64 	%rd106, %rd106, %rd22;
	setp.lt.s64 	%p20, %rd108, %rd2;
	@%p20 bra 	$L__BB12_4;
$L__BB12_11:
	ld.param.u64 	%rd103, [block_lstm_forward_bf16_param_0+112];
	add.s64 	%rd105, %rd105, %rd13;
	setp.lt.s64 	%p21, %rd105, %rd103;
	@%p21 bra 	$L__BB12_2;
$L__BB12_12:
	ret;
}
	// .globl	block_lstm_backward_bf16
.visible .entry block_lstm_backward_bf16(
	.param .align 8 .b8 block_lstm_backward_bf16_param_0[136]
)
{
	.reg .pred 	%p<21>;
	.reg .b16 	%rs<21>;
	.reg .f32 	%f<97>;
	.reg .b32 	%r<91>;
	.reg .b64 	%rd<148>;
	mov.b64 	%rd67, block_lstm_backward_bf16_param_0;
	add.s64 	%rd1, %rd67, 128;
	ld.param.u64 	%rd2, [block_lstm_backward_bf16_param_0+128];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd143, %r1;
	ld.param.u64 	%rd4, [block_lstm_backward_bf16_param_0+120];
	setp.le.s64 	%p1, %rd4, %rd143;
	@%p1 bra 	$L__BB13_21;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd69, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd70, %r4;
	add.s64 	%rd5, %rd69, %rd70;
	ld.param.u64 	%rd71, [%rd1+-128];
	cvta.to.global.u64 	%rd6, %rd71;
	ld.param.u64 	%rd72, [%rd1+-120];
	cvta.to.global.u64 	%rd7, %rd72;
	ld.param.u64 	%rd73, [%rd1+-112];
	cvta.to.global.u64 	%rd8, %rd73;
	ld.param.u64 	%rd74, [%rd1+-104];
	cvta.to.global.u64 	%rd9, %rd74;
	ld.param.u64 	%rd75, [%rd1+-96];
	cvta.to.global.u64 	%rd10, %rd75;
	ld.param.u64 	%rd76, [%rd1+-72];
	cvta.to.global.u64 	%rd11, %rd76;
	ld.param.u64 	%rd77, [%rd1+-80];
	cvta.to.global.u64 	%rd12, %rd77;
	ld.param.u64 	%rd13, [%rd1+-32];
	ld.param.u64 	%rd14, [%rd1+-40];
	cvta.to.global.u64 	%rd15, %rd14;
	ld.param.u64 	%rd16, [%rd1+-48];
	cvta.to.global.u64 	%rd17, %rd13;
	ld.param.u64 	%rd78, [%rd1+-88];
	cvta.to.global.u64 	%rd18, %rd78;
	ld.param.u64 	%rd19, [%rd1+-64];
	cvta.to.global.u64 	%rd20, %rd16;
	ld.param.u64 	%rd79, [%rd1+-16];
	cvta.to.global.u64 	%rd22, %rd79;
	ld.param.u64 	%rd80, [%rd1+-24];
	cvta.to.global.u64 	%rd23, %rd80;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd24, %r5, %r3;
	cvta.to.global.u64 	%rd25, %rd19;
	ld.param.u64 	%rd81, [%rd1+-56];
	cvta.to.global.u64 	%rd26, %rd81;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd27, %r6;
	mul.wide.u32 	%rd82, %r4, 2;
	add.s64 	%rd28, %rd26, %rd82;
	shl.b64 	%rd29, %rd69, 1;
	shl.b64 	%rd30, %rd24, 1;
	add.s64 	%rd31, %rd25, %rd82;
	add.s64 	%rd32, %rd20, %rd82;
	shl.b64 	%rd33, %rd24, 2;
	add.s64 	%rd34, %rd18, %rd82;
	add.s64 	%rd35, %rd12, %rd82;
	add.s64 	%rd36, %rd11, %rd82;
	add.s64 	%rd37, %rd10, %rd82;
	add.s64 	%rd38, %rd9, %rd82;
	add.s64 	%rd39, %rd8, %rd82;
	add.s64 	%rd40, %rd7, %rd82;
	add.s64 	%rd41, %rd6, %rd82;
	add.s64 	%rd42, %rd22, %rd82;
	shl.b64 	%rd43, %rd2, 1;
$L__BB13_2:
	.pragma "nounroll";
	setp.ge.s64 	%p2, %rd5, %rd2;
	@%p2 bra 	$L__BB13_20;
	shl.b64 	%rd130, %rd2, 2;
	setp.eq.s64 	%p3, %rd14, 0;
	mul.lo.s64 	%rd45, %rd143, %rd2;
	mul.lo.s64 	%rd46, %rd130, %rd143;
	@%p3 bra 	$L__BB13_12;
	add.s64 	%rd83, %rd5, %rd45;
	shl.b64 	%rd144, %rd83, 2;
	shl.b64 	%rd84, %rd45, 1;
	add.s64 	%rd48, %rd34, %rd84;
	add.s64 	%rd49, %rd35, %rd84;
	add.s64 	%rd50, %rd36, %rd84;
	add.s64 	%rd51, %rd37, %rd84;
	add.s64 	%rd52, %rd38, %rd84;
	add.s64 	%rd53, %rd39, %rd84;
	add.s64 	%rd54, %rd40, %rd84;
	add.s64 	%rd55, %rd41, %rd84;
	shl.b64 	%rd85, %rd46, 1;
	add.s64 	%rd56, %rd42, %rd85;
	mov.u64 	%rd145, %rd29;
	mov.u64 	%rd146, %rd5;
$L__BB13_5:
	.pragma "nounroll";
	add.s64 	%rd86, %rd55, %rd145;
	ld.global.u16 	%r7, [%rd86];
	shl.b32 	%r8, %r7, 16;
	mov.b32 	%f1, %r8;
	add.s64 	%rd87, %rd54, %rd145;
	ld.global.u16 	%r9, [%rd87];
	shl.b32 	%r10, %r9, 16;
	mov.b32 	%f2, %r10;
	add.s64 	%rd88, %rd53, %rd145;
	ld.global.u16 	%r11, [%rd88];
	shl.b32 	%r12, %r11, 16;
	mov.b32 	%f3, %r12;
	add.s64 	%rd89, %rd52, %rd145;
	ld.global.u16 	%r13, [%rd89];
	shl.b32 	%r14, %r13, 16;
	mov.b32 	%f4, %r14;
	add.s64 	%rd90, %rd51, %rd145;
	ld.global.u16 	%r15, [%rd90];
	shl.b32 	%r16, %r15, 16;
	mov.b32 	%f5, %r16;
	add.s64 	%rd91, %rd50, %rd145;
	ld.global.u16 	%r17, [%rd91];
	shl.b32 	%r18, %r17, 16;
	mov.b32 	%f33, %r18;
	add.s64 	%rd92, %rd49, %rd145;
	ld.global.u16 	%r19, [%rd92];
	shl.b32 	%r20, %r19, 16;
	mov.b32 	%f91, %r20;
	add.s64 	%rd93, %rd15, %rd144;
	ld.global.f32 	%f34, [%rd93];
	add.f32 	%f7, %f34, %f33;
	setp.eq.s64 	%p4, %rd13, 0;
	@%p4 bra 	$L__BB13_7;
	add.s64 	%rd94, %rd17, %rd144;
	ld.global.f32 	%f35, [%rd94];
	add.f32 	%f91, %f35, %f91;
$L__BB13_7:
	mov.f32 	%f36, 0f3F800000;
	sub.f32 	%f37, %f36, %f3;
	mul.f32 	%f38, %f37, %f3;
	mul.f32 	%f39, %f7, %f5;
	mul.f32 	%f10, %f38, %f39;
	mul.f32 	%f40, %f5, %f5;
	sub.f32 	%f41, %f36, %f40;
	mul.f32 	%f42, %f7, %f3;
	fma.rn.f32 	%f92, %f41, %f42, %f91;
	setp.eq.s64 	%p5, %rd16, 0;
	@%p5 bra 	$L__BB13_9;
	add.s64 	%rd95, %rd32, %rd145;
	ld.global.u16 	%r21, [%rd95];
	shl.b32 	%r22, %r21, 16;
	mov.b32 	%f43, %r22;
	fma.rn.f32 	%f92, %f10, %f43, %f92;
$L__BB13_9:
	sub.f32 	%f45, %f36, %f1;
	mul.f32 	%f46, %f45, %f1;
	mul.f32 	%f47, %f92, %f4;
	mul.f32 	%f14, %f46, %f47;
	add.s64 	%rd96, %rd48, %rd145;
	ld.global.u16 	%r23, [%rd96];
	shl.b32 	%r24, %r23, 16;
	mov.b32 	%f48, %r24;
	mul.f32 	%f49, %f92, %f48;
	sub.f32 	%f50, %f36, %f2;
	mul.f32 	%f51, %f50, %f2;
	mul.f32 	%f15, %f51, %f49;
	mul.f32 	%f93, %f92, %f2;
	setp.eq.s64 	%p6, %rd19, 0;
	@%p6 bra 	$L__BB13_11;
	add.s64 	%rd97, %rd31, %rd145;
	ld.global.u16 	%r25, [%rd97];
	shl.b32 	%r26, %r25, 16;
	mov.b32 	%f52, %r26;
	add.s64 	%rd98, %rd28, %rd145;
	ld.global.u16 	%r27, [%rd98];
	shl.b32 	%r28, %r27, 16;
	mov.b32 	%f53, %r28;
	mul.f32 	%f54, %f15, %f53;
	fma.rn.f32 	%f55, %f14, %f52, %f54;
	add.f32 	%f93, %f93, %f55;
$L__BB13_11:
	mov.b32 	%r29, %f14;
	bfe.u32 	%r30, %r29, 16, 1;
	add.s32 	%r31, %r29, %r30;
	add.s32 	%r32, %r31, 32767;
	shr.u32 	%r33, %r32, 16;
	cvt.u16.u32 	%rs5, %r33;
	setp.nan.f32 	%p7, %f14, %f14;
	selp.b16 	%rs6, 32704, %rs5, %p7;
	add.s64 	%rd99, %rd56, %rd145;
	st.global.u16 	[%rd99], %rs6;
	mov.b32 	%r34, %f15;
	bfe.u32 	%r35, %r34, 16, 1;
	add.s32 	%r36, %r34, %r35;
	add.s32 	%r37, %r36, 32767;
	shr.u32 	%r38, %r37, 16;
	cvt.u16.u32 	%rs7, %r38;
	setp.nan.f32 	%p8, %f15, %f15;
	selp.b16 	%rs8, 32704, %rs7, %p8;
	add.s64 	%rd100, %rd99, %rd43;
	st.global.u16 	[%rd100], %rs8;
	mul.f32 	%f56, %f4, %f4;
	mov.f32 	%f57, 0f3F800000;
	sub.f32 	%f58, %f57, %f56;
	mul.f32 	%f59, %f92, %f1;
	mul.f32 	%f60, %f58, %f59;
	mov.b32 	%r39, %f60;
	bfe.u32 	%r40, %r39, 16, 1;
	add.s32 	%r41, %r39, %r40;
	add.s32 	%r42, %r41, 32767;
	shr.u32 	%r43, %r42, 16;
	setp.nan.f32 	%p9, %f60, %f60;
	cvt.u16.u32 	%rs9, %r43;
	selp.b16 	%rs10, 32704, %rs9, %p9;
	add.s64 	%rd101, %rd100, %rd43;
	st.global.u16 	[%rd101], %rs10;
	mov.b32 	%r44, %f10;
	bfe.u32 	%r45, %r44, 16, 1;
	add.s32 	%r46, %r44, %r45;
	add.s32 	%r47, %r46, 32767;
	shr.u32 	%r48, %r47, 16;
	cvt.u16.u32 	%rs11, %r48;
	setp.nan.f32 	%p10, %f10, %f10;
	selp.b16 	%rs12, 32704, %rs11, %p10;
	add.s64 	%rd102, %rd101, %rd43;
	st.global.u16 	[%rd102], %rs12;
	add.s64 	%rd103, %rd23, %rd144;
	st.global.f32 	[%rd103], %f93;
	add.s64 	%rd145, %rd145, %rd30;
	add.s64 	%rd144, %rd144, %rd33;
	add.s64 	%rd146, %rd146, %rd24;
	setp.lt.s64 	%p11, %rd146, %rd2;
	@%p11 bra 	$L__BB13_5;
	bra.uni 	$L__BB13_20;
$L__BB13_12:
	mov.u64 	%rd147, %rd5;
$L__BB13_13:
	.pragma "nounroll";
	mul.lo.s64 	%rd142, %rd143, %rd2;
	add.s64 	%rd64, %rd147, %rd142;
	shl.b64 	%rd104, %rd64, 1;
	add.s64 	%rd105, %rd6, %rd104;
	ld.global.u16 	%r49, [%rd105];
	shl.b32 	%r50, %r49, 16;
	mov.b32 	%f19, %r50;
	add.s64 	%rd106, %rd7, %rd104;
	ld.global.u16 	%rs1, [%rd106];
	add.s64 	%rd107, %rd8, %rd104;
	ld.global.u16 	%rs2, [%rd107];
	add.s64 	%rd108, %rd9, %rd104;
	ld.global.u16 	%r51, [%rd108];
	shl.b32 	%r52, %r51, 16;
	mov.b32 	%f20, %r52;
	add.s64 	%rd109, %rd10, %rd104;
	ld.global.u16 	%rs3, [%rd109];
	add.s64 	%rd110, %rd11, %rd104;
	ld.global.u16 	%rs4, [%rd110];
	add.s64 	%rd111, %rd12, %rd104;
	ld.global.u16 	%r53, [%rd111];
	shl.b32 	%r54, %r53, 16;
	mov.b32 	%f94, %r54;
	setp.eq.s64 	%p12, %rd13, 0;
	@%p12 bra 	$L__BB13_15;
	mul.lo.s64 	%rd134, %rd143, %rd2;
	add.s64 	%rd133, %rd147, %rd134;
	shl.b64 	%rd112, %rd133, 2;
	add.s64 	%rd113, %rd17, %rd112;
	ld.global.f32 	%f61, [%rd113];
	add.f32 	%f94, %f61, %f94;
$L__BB13_15:
	cvt.u32.u16 	%r55, %rs2;
	shl.b32 	%r56, %r55, 16;
	mov.b32 	%f62, %r56;
	cvt.u32.u16 	%r57, %rs3;
	shl.b32 	%r58, %r57, 16;
	mov.b32 	%f63, %r58;
	cvt.u32.u16 	%r59, %rs4;
	shl.b32 	%r60, %r59, 16;
	mov.b32 	%f64, %r60;
	mov.f32 	%f65, 0f3F800000;
	sub.f32 	%f66, %f65, %f62;
	mul.f32 	%f67, %f66, %f62;
	mul.f32 	%f68, %f64, %f63;
	mul.f32 	%f24, %f67, %f68;
	mul.f32 	%f69, %f63, %f63;
	sub.f32 	%f70, %f65, %f69;
	mul.f32 	%f71, %f64, %f62;
	fma.rn.f32 	%f95, %f70, %f71, %f94;
	setp.eq.s64 	%p13, %rd16, 0;
	@%p13 bra 	$L__BB13_17;
	cvta.to.global.u64 	%rd131, %rd16;
	shl.b64 	%rd114, %rd147, 1;
	add.s64 	%rd115, %rd131, %rd114;
	ld.global.u16 	%r61, [%rd115];
	shl.b32 	%r62, %r61, 16;
	mov.b32 	%f72, %r62;
	fma.rn.f32 	%f95, %f24, %f72, %f95;
$L__BB13_17:
	mul.lo.s64 	%rd137, %rd143, %rd2;
	add.s64 	%rd136, %rd147, %rd137;
	shl.b64 	%rd135, %rd136, 1;
	cvt.u32.u16 	%r63, %rs1;
	shl.b32 	%r64, %r63, 16;
	mov.b32 	%f73, %r64;
	sub.f32 	%f75, %f65, %f19;
	mul.f32 	%f76, %f75, %f19;
	mul.f32 	%f77, %f95, %f20;
	mul.f32 	%f28, %f76, %f77;
	add.s64 	%rd117, %rd18, %rd135;
	ld.global.u16 	%r65, [%rd117];
	shl.b32 	%r66, %r65, 16;
	mov.b32 	%f78, %r66;
	mul.f32 	%f79, %f95, %f78;
	sub.f32 	%f80, %f65, %f73;
	mul.f32 	%f81, %f80, %f73;
	mul.f32 	%f29, %f81, %f79;
	mul.f32 	%f96, %f95, %f73;
	setp.eq.s64 	%p14, %rd19, 0;
	@%p14 bra 	$L__BB13_19;
	cvta.to.global.u64 	%rd132, %rd19;
	shl.b64 	%rd118, %rd147, 1;
	add.s64 	%rd119, %rd132, %rd118;
	ld.global.u16 	%r67, [%rd119];
	shl.b32 	%r68, %r67, 16;
	mov.b32 	%f82, %r68;
	add.s64 	%rd120, %rd26, %rd118;
	ld.global.u16 	%r69, [%rd120];
	shl.b32 	%r70, %r69, 16;
	mov.b32 	%f83, %r70;
	mul.f32 	%f84, %f29, %f83;
	fma.rn.f32 	%f85, %f28, %f82, %f84;
	add.f32 	%f96, %f96, %f85;
$L__BB13_19:
	mul.lo.s64 	%rd141, %rd143, %rd2;
	add.s64 	%rd140, %rd147, %rd141;
	shl.b64 	%rd139, %rd2, 2;
	mul.lo.s64 	%rd138, %rd139, %rd143;
	mov.b32 	%r71, %f28;
	bfe.u32 	%r72, %r71, 16, 1;
	add.s32 	%r73, %r71, %r72;
	add.s32 	%r74, %r73, 32767;
	shr.u32 	%r75, %r74, 16;
	cvt.u16.u32 	%rs13, %r75;
	setp.nan.f32 	%p15, %f28, %f28;
	selp.b16 	%rs14, 32704, %rs13, %p15;
	add.s64 	%rd121, %rd147, %rd138;
	shl.b64 	%rd122, %rd121, 1;
	add.s64 	%rd123, %rd22, %rd122;
	st.global.u16 	[%rd123], %rs14;
	mov.b32 	%r76, %f29;
	bfe.u32 	%r77, %r76, 16, 1;
	add.s32 	%r78, %r76, %r77;
	add.s32 	%r79, %r78, 32767;
	shr.u32 	%r80, %r79, 16;
	cvt.u16.u32 	%rs15, %r80;
	setp.nan.f32 	%p16, %f29, %f29;
	selp.b16 	%rs16, 32704, %rs15, %p16;
	add.s64 	%rd124, %rd123, %rd43;
	st.global.u16 	[%rd124], %rs16;
	mul.f32 	%f86, %f20, %f20;
	mov.f32 	%f87, 0f3F800000;
	sub.f32 	%f88, %f87, %f86;
	mul.f32 	%f89, %f95, %f19;
	mul.f32 	%f90, %f88, %f89;
	mov.b32 	%r81, %f90;
	bfe.u32 	%r82, %r81, 16, 1;
	add.s32 	%r83, %r81, %r82;
	add.s32 	%r84, %r83, 32767;
	shr.u32 	%r85, %r84, 16;
	setp.nan.f32 	%p17, %f90, %f90;
	cvt.u16.u32 	%rs17, %r85;
	selp.b16 	%rs18, 32704, %rs17, %p17;
	add.s64 	%rd125, %rd124, %rd43;
	st.global.u16 	[%rd125], %rs18;
	mov.b32 	%r86, %f24;
	bfe.u32 	%r87, %r86, 16, 1;
	add.s32 	%r88, %r86, %r87;
	add.s32 	%r89, %r88, 32767;
	shr.u32 	%r90, %r89, 16;
	cvt.u16.u32 	%rs19, %r90;
	setp.nan.f32 	%p18, %f24, %f24;
	selp.b16 	%rs20, 32704, %rs19, %p18;
	add.s64 	%rd126, %rd125, %rd43;
	st.global.u16 	[%rd126], %rs20;
	shl.b64 	%rd127, %rd140, 2;
	add.s64 	%rd128, %rd23, %rd127;
	st.global.f32 	[%rd128], %f96;
	add.s64 	%rd147, %rd147, %rd24;
	setp.lt.s64 	%p19, %rd147, %rd2;
	@%p19 bra 	$L__BB13_13;
$L__BB13_20:
	ld.param.u64 	%rd129, [block_lstm_backward_bf16_param_0+120];
	add.s64 	%rd143, %rd143, %rd27;
	setp.lt.s64 	%p20, %rd143, %rd129;
	@%p20 bra 	$L__BB13_2;
$L__BB13_21:
	ret;
}
	// .globl	block_lstm_sums_bf16
.visible .entry block_lstm_sums_bf16(
	.param .align 8 .b8 block_lstm_sums_bf16_param_0[80]
)
{
	.reg .pred 	%p<25>;
	.reg .f32 	%f<180>;
	.reg .b32 	%r<101>;
	.reg .b64 	%rd<278>;
	ld.param.u64 	%rd81, [block_lstm_sums_bf16_param_0+72];
	ld.param.u64 	%rd80, [block_lstm_sums_bf16_param_0+64];
	ld.param.u64 	%rd79, [block_lstm_sums_bf16_param_0+56];
	ld.param.u64 	%rd78, [block_lstm_sums_bf16_param_0+48];
	ld.param.u64 	%rd77, [block_lstm_sums_bf16_param_0+40];
	ld.param.u64 	%rd76, [block_lstm_sums_bf16_param_0+32];
	ld.param.u64 	%rd75, [block_lstm_sums_bf16_param_0+24];
	ld.param.u64 	%rd74, [block_lstm_sums_bf16_param_0+16];
	ld.param.u64 	%rd73, [block_lstm_sums_bf16_param_0+8];
	ld.param.u64 	%rd72, [block_lstm_sums_bf16_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd269, %r1;
	setp.le.s64 	%p1, %rd79, %rd269;
	@%p1 bra 	$L__BB14_34;
	cvta.to.global.u64 	%rd8, %rd73;
	cvta.to.global.u64 	%rd9, %rd75;
	cvta.to.global.u64 	%rd10, %rd74;
	cvta.to.global.u64 	%rd11, %rd72;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd83, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd84, %r4;
	add.s64 	%rd12, %rd83, %rd84;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd13, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd14, %r6;
	mul.lo.s64 	%rd85, %rd80, %rd269;
	xor.b64  	%rd15, %rd85, 3;
	mul.lo.s64 	%rd86, %rd80, %rd14;
	neg.s64 	%rd16, %rd86;
	mov.u64 	%rd268, 0;
	add.s64 	%rd87, %rd85, %rd80;
	not.b64 	%rd17, %rd87;
	not.b64 	%rd18, %rd76;
	mov.u64 	%rd88, -2;
	sub.s64 	%rd19, %rd88, %rd85;
	shl.b64 	%rd21, %rd78, 3;
	shl.b64 	%rd22, %rd78, 1;
	shl.b64 	%rd89, %rd83, 1;
	mul.wide.u32 	%rd90, %r4, 2;
	add.s64 	%rd23, %rd89, %rd90;
	shl.b64 	%rd24, %rd13, 1;
$L__BB14_2:
	.pragma "nounroll";
	ld.param.u64 	%rd196, [block_lstm_sums_bf16_param_0+32];
	ld.param.u64 	%rd195, [block_lstm_sums_bf16_param_0+64];
	mul.lo.s64 	%rd27, %rd268, %rd16;
	add.s64 	%rd91, %rd27, %rd17;
	max.s64 	%rd28, %rd91, %rd18;
	add.s64 	%rd29, %rd19, %rd27;
	mul.lo.s64 	%rd30, %rd269, %rd195;
	add.s64 	%rd92, %rd30, %rd195;
	min.s64 	%rd31, %rd92, %rd196;
	setp.ge.s64 	%p2, %rd12, %rd78;
	@%p2 bra 	$L__BB14_33;
	mul.lo.s64 	%rd198, %rd269, %rd195;
	ld.param.u64 	%rd197, [block_lstm_sums_bf16_param_0+64];
	add.s64 	%rd97, %rd27, %rd15;
	sub.s64 	%rd98, %rd97, %rd28;
	and.b64  	%rd33, %rd98, 3;
	add.s64 	%rd39, %rd198, 1;
	mov.u64 	%rd270, 0;
	mov.u64 	%rd271, %rd12;
$L__BB14_4:
	.pragma "nounroll";
	setp.ge.s64 	%p3, %rd30, %rd31;
	mov.f32 	%f173, 0f00000000;
	mov.f32 	%f174, %f173;
	mov.f32 	%f175, %f173;
	mov.f32 	%f176, %f173;
	mov.f32 	%f177, %f173;
	mov.f32 	%f178, %f173;
	mov.f32 	%f179, %f173;
	@%p3 bra 	$L__BB14_18;
	ld.param.u64 	%rd202, [block_lstm_sums_bf16_param_0+64];
	mul.lo.s64 	%rd201, %rd269, %rd195;
	mul.lo.s64 	%rd200, %rd198, %rd78;
	shl.b64 	%rd199, %rd200, 2;
	setp.gt.s64 	%p4, %rd81, 4;
	add.s64 	%rd102, %rd199, %rd271;
	shl.b64 	%rd103, %rd102, 1;
	add.s64 	%rd52, %rd11, %rd103;
	add.s64 	%rd53, %rd52, %rd22;
	add.s64 	%rd54, %rd53, %rd22;
	add.s64 	%rd55, %rd54, %rd22;
	@%p4 bra 	$L__BB14_13;
	bra.uni 	$L__BB14_6;
$L__BB14_13:
	ld.param.u64 	%rd226, [block_lstm_sums_bf16_param_0+64];
	mov.u32 	%r100, %nctaid.y;
	cvt.u64.u32 	%rd225, %r100;
	mul.lo.s64 	%rd224, %rd226, %rd225;
	neg.s64 	%rd223, %rd224;
	mov.u32 	%r99, %ctaid.y;
	cvt.u64.u32 	%rd222, %r99;
	mul.lo.s64 	%rd221, %rd226, %rd222;
	xor.b64  	%rd220, %rd221, 1;
	mul.lo.s64 	%rd219, %rd268, %rd223;
	add.s64 	%rd218, %rd219, %rd220;
	sub.s64 	%rd217, %rd218, %rd28;
	and.b64  	%rd216, %rd217, 1;
	setp.eq.s64 	%p10, %rd216, 0;
	mov.f32 	%f173, 0f00000000;
	mov.f32 	%f174, %f173;
	mov.f32 	%f175, %f173;
	mov.f32 	%f176, %f173;
	mov.f32 	%f177, %f173;
	mov.f32 	%f178, %f173;
	mov.f32 	%f179, %f173;
	mov.u64 	%rd276, %rd30;
	@%p10 bra 	$L__BB14_15;
	sub.s64 	%rd231, %rd198, %rd77;
	mul.lo.s64 	%rd230, %rd231, %rd78;
	ld.param.u64 	%rd229, [block_lstm_sums_bf16_param_0+64];
	mul.lo.s64 	%rd228, %rd269, %rd195;
	mul.lo.s64 	%rd227, %rd198, %rd78;
	setp.lt.s64 	%p11, %rd228, %rd77;
	ld.global.u16 	%r63, [%rd52];
	shl.b32 	%r64, %r63, 16;
	mov.b32 	%f124, %r64;
	add.f32 	%f179, %f124, 0f00000000;
	ld.global.u16 	%r65, [%rd53];
	shl.b32 	%r66, %r65, 16;
	mov.b32 	%f125, %r66;
	add.f32 	%f178, %f125, 0f00000000;
	ld.global.u16 	%r67, [%rd54];
	shl.b32 	%r68, %r67, 16;
	mov.b32 	%f126, %r68;
	add.f32 	%f177, %f126, 0f00000000;
	ld.global.u16 	%r69, [%rd55];
	shl.b32 	%r70, %r69, 16;
	mov.b32 	%f127, %r70;
	add.f32 	%f176, %f127, 0f00000000;
	add.s64 	%rd134, %rd227, %rd271;
	shl.b64 	%rd135, %rd134, 1;
	add.s64 	%rd136, %rd10, %rd135;
	add.s64 	%rd137, %rd230, %rd271;
	shl.b64 	%rd138, %rd137, 1;
	add.s64 	%rd139, %rd8, %rd138;
	selp.b64 	%rd140, %rd136, %rd139, %p11;
	ld.global.u16 	%r71, [%rd140];
	shl.b32 	%r72, %r71, 16;
	mov.b32 	%f128, %r72;
	fma.rn.f32 	%f175, %f124, %f128, 0f00000000;
	fma.rn.f32 	%f174, %f125, %f128, 0f00000000;
	add.s64 	%rd141, %rd8, %rd135;
	ld.global.u16 	%r73, [%rd141];
	shl.b32 	%r74, %r73, 16;
	mov.b32 	%f129, %r74;
	fma.rn.f32 	%f173, %f127, %f129, 0f00000000;
	mov.u64 	%rd276, %rd39;
$L__BB14_15:
	setp.eq.s64 	%p12, %rd29, %rd28;
	@%p12 bra 	$L__BB14_18;
	mul.lo.s64 	%rd142, %rd21, %rd276;
	mul.lo.s64 	%rd143, %rd24, %rd270;
	add.s64 	%rd144, %rd23, %rd143;
	add.s64 	%rd145, %rd11, %rd144;
	add.s64 	%rd277, %rd145, %rd142;
$L__BB14_17:
	ld.global.u16 	%r75, [%rd277];
	shl.b32 	%r76, %r75, 16;
	mov.b32 	%f130, %r76;
	add.f32 	%f131, %f179, %f130;
	add.s64 	%rd146, %rd277, %rd22;
	ld.global.u16 	%r77, [%rd146];
	shl.b32 	%r78, %r77, 16;
	mov.b32 	%f132, %r78;
	add.f32 	%f133, %f178, %f132;
	add.s64 	%rd147, %rd146, %rd22;
	ld.global.u16 	%r79, [%rd147];
	shl.b32 	%r80, %r79, 16;
	mov.b32 	%f134, %r80;
	add.f32 	%f135, %f177, %f134;
	add.s64 	%rd148, %rd147, %rd22;
	ld.global.u16 	%r81, [%rd148];
	shl.b32 	%r82, %r81, 16;
	mov.b32 	%f136, %r82;
	add.f32 	%f137, %f176, %f136;
	mul.lo.s64 	%rd149, %rd276, %rd78;
	add.s64 	%rd150, %rd149, %rd271;
	shl.b64 	%rd151, %rd150, 1;
	add.s64 	%rd152, %rd10, %rd151;
	sub.s64 	%rd153, %rd276, %rd77;
	mul.lo.s64 	%rd154, %rd153, %rd78;
	add.s64 	%rd155, %rd154, %rd271;
	shl.b64 	%rd156, %rd155, 1;
	add.s64 	%rd157, %rd8, %rd156;
	setp.lt.s64 	%p13, %rd276, %rd77;
	selp.b64 	%rd158, %rd152, %rd157, %p13;
	ld.global.u16 	%r83, [%rd158];
	shl.b32 	%r84, %r83, 16;
	mov.b32 	%f138, %r84;
	fma.rn.f32 	%f139, %f130, %f138, %f175;
	fma.rn.f32 	%f140, %f132, %f138, %f174;
	add.s64 	%rd159, %rd8, %rd151;
	ld.global.u16 	%r85, [%rd159];
	shl.b32 	%r86, %r85, 16;
	mov.b32 	%f141, %r86;
	fma.rn.f32 	%f142, %f136, %f141, %f173;
	add.s64 	%rd160, %rd148, %rd22;
	ld.global.u16 	%r87, [%rd160];
	shl.b32 	%r88, %r87, 16;
	mov.b32 	%f143, %r88;
	add.f32 	%f179, %f131, %f143;
	add.s64 	%rd161, %rd160, %rd22;
	ld.global.u16 	%r89, [%rd161];
	shl.b32 	%r90, %r89, 16;
	mov.b32 	%f144, %r90;
	add.f32 	%f178, %f133, %f144;
	add.s64 	%rd162, %rd161, %rd22;
	ld.global.u16 	%r91, [%rd162];
	shl.b32 	%r92, %r91, 16;
	mov.b32 	%f145, %r92;
	add.f32 	%f177, %f135, %f145;
	add.s64 	%rd163, %rd162, %rd22;
	add.s64 	%rd277, %rd163, %rd22;
	ld.global.u16 	%r93, [%rd163];
	shl.b32 	%r94, %r93, 16;
	mov.b32 	%f146, %r94;
	add.f32 	%f176, %f137, %f146;
	add.s64 	%rd164, %rd276, 1;
	setp.lt.s64 	%p14, %rd164, %rd77;
	add.s64 	%rd166, %rd152, %rd22;
	sub.s64 	%rd167, %rd164, %rd77;
	mul.lo.s64 	%rd168, %rd167, %rd78;
	add.s64 	%rd169, %rd168, %rd271;
	shl.b64 	%rd170, %rd169, 1;
	add.s64 	%rd171, %rd8, %rd170;
	selp.b64 	%rd172, %rd166, %rd171, %p14;
	ld.global.u16 	%r95, [%rd172];
	shl.b32 	%r96, %r95, 16;
	mov.b32 	%f147, %r96;
	fma.rn.f32 	%f175, %f143, %f147, %f139;
	fma.rn.f32 	%f174, %f144, %f147, %f140;
	add.s64 	%rd173, %rd159, %rd22;
	ld.global.u16 	%r97, [%rd173];
	shl.b32 	%r98, %r97, 16;
	mov.b32 	%f148, %r98;
	fma.rn.f32 	%f173, %f146, %f148, %f142;
	add.s64 	%rd276, %rd276, 2;
	setp.lt.s64 	%p15, %rd276, %rd31;
	@%p15 bra 	$L__BB14_17;
	bra.uni 	$L__BB14_18;
$L__BB14_6:
	setp.eq.s64 	%p5, %rd33, 0;
	mov.f32 	%f176, 0f00000000;
	mov.f32 	%f177, %f176;
	mov.f32 	%f178, %f176;
	mov.f32 	%f179, %f176;
	mov.u64 	%rd272, %rd30;
	@%p5 bra 	$L__BB14_10;
	setp.eq.s64 	%p6, %rd33, 1;
	ld.global.u16 	%r7, [%rd52];
	shl.b32 	%r8, %r7, 16;
	mov.b32 	%f71, %r8;
	add.f32 	%f179, %f71, 0f00000000;
	ld.global.u16 	%r9, [%rd53];
	shl.b32 	%r10, %r9, 16;
	mov.b32 	%f72, %r10;
	add.f32 	%f178, %f72, 0f00000000;
	ld.global.u16 	%r11, [%rd54];
	shl.b32 	%r12, %r11, 16;
	mov.b32 	%f73, %r12;
	add.f32 	%f177, %f73, 0f00000000;
	ld.global.u16 	%r13, [%rd55];
	shl.b32 	%r14, %r13, 16;
	mov.b32 	%f74, %r14;
	add.f32 	%f176, %f74, 0f00000000;
	mov.u64 	%rd272, %rd39;
	@%p6 bra 	$L__BB14_10;
	add.s64 	%rd272, %rd198, 2;
	ld.param.u64 	%rd207, [block_lstm_sums_bf16_param_0+64];
	mul.lo.s64 	%rd206, %rd269, %rd195;
	add.s64 	%rd205, %rd198, 1;
	mul.lo.s64 	%rd204, %rd205, %rd78;
	shl.b64 	%rd203, %rd204, 2;
	setp.eq.s64 	%p7, %rd33, 2;
	add.s64 	%rd104, %rd203, %rd271;
	shl.b64 	%rd105, %rd104, 1;
	add.s64 	%rd106, %rd11, %rd105;
	ld.global.u16 	%r15, [%rd106];
	shl.b32 	%r16, %r15, 16;
	mov.b32 	%f75, %r16;
	add.f32 	%f179, %f179, %f75;
	add.s64 	%rd107, %rd106, %rd22;
	ld.global.u16 	%r17, [%rd107];
	shl.b32 	%r18, %r17, 16;
	mov.b32 	%f76, %r18;
	add.f32 	%f178, %f178, %f76;
	add.s64 	%rd108, %rd107, %rd22;
	ld.global.u16 	%r19, [%rd108];
	shl.b32 	%r20, %r19, 16;
	mov.b32 	%f77, %r20;
	add.f32 	%f177, %f177, %f77;
	add.s64 	%rd109, %rd108, %rd22;
	ld.global.u16 	%r21, [%rd109];
	shl.b32 	%r22, %r21, 16;
	mov.b32 	%f78, %r22;
	add.f32 	%f176, %f176, %f78;
	@%p7 bra 	$L__BB14_10;
	add.s64 	%rd272, %rd198, 3;
	ld.param.u64 	%rd213, [block_lstm_sums_bf16_param_0+64];
	mul.lo.s64 	%rd212, %rd269, %rd195;
	add.s64 	%rd211, %rd198, 2;
	mul.lo.s64 	%rd210, %rd211, %rd78;
	shl.b64 	%rd209, %rd210, 2;
	add.s64 	%rd110, %rd209, %rd271;
	shl.b64 	%rd111, %rd110, 1;
	add.s64 	%rd112, %rd11, %rd111;
	ld.global.u16 	%r23, [%rd112];
	shl.b32 	%r24, %r23, 16;
	mov.b32 	%f79, %r24;
	add.f32 	%f179, %f179, %f79;
	add.s64 	%rd113, %rd112, %rd22;
	ld.global.u16 	%r25, [%rd113];
	shl.b32 	%r26, %r25, 16;
	mov.b32 	%f80, %r26;
	add.f32 	%f178, %f178, %f80;
	add.s64 	%rd114, %rd113, %rd22;
	ld.global.u16 	%r27, [%rd114];
	shl.b32 	%r28, %r27, 16;
	mov.b32 	%f81, %r28;
	add.f32 	%f177, %f177, %f81;
	add.s64 	%rd115, %rd114, %rd22;
	ld.global.u16 	%r29, [%rd115];
	shl.b32 	%r30, %r29, 16;
	mov.b32 	%f82, %r30;
	add.f32 	%f176, %f176, %f82;
$L__BB14_10:
	mov.f32 	%f173, 0f00000000;
	sub.s64 	%rd215, %rd29, %rd28;
	setp.lt.u64 	%p8, %rd215, 3;
	mov.f32 	%f174, %f173;
	mov.f32 	%f175, %f173;
	@%p8 bra 	$L__BB14_18;
	mul.lo.s64 	%rd116, %rd21, %rd272;
	shl.b64 	%rd117, %rd271, 1;
	add.s64 	%rd118, %rd116, %rd117;
	add.s64 	%rd273, %rd11, %rd118;
$L__BB14_12:
	mov.f32 	%f173, 0f00000000;
	ld.global.u16 	%r31, [%rd273];
	shl.b32 	%r32, %r31, 16;
	mov.b32 	%f89, %r32;
	add.f32 	%f90, %f179, %f89;
	add.s64 	%rd119, %rd273, %rd22;
	ld.global.u16 	%r33, [%rd119];
	shl.b32 	%r34, %r33, 16;
	mov.b32 	%f91, %r34;
	add.f32 	%f92, %f178, %f91;
	add.s64 	%rd120, %rd119, %rd22;
	ld.global.u16 	%r35, [%rd120];
	shl.b32 	%r36, %r35, 16;
	mov.b32 	%f93, %r36;
	add.f32 	%f94, %f177, %f93;
	add.s64 	%rd121, %rd120, %rd22;
	ld.global.u16 	%r37, [%rd121];
	shl.b32 	%r38, %r37, 16;
	mov.b32 	%f95, %r38;
	add.f32 	%f96, %f176, %f95;
	add.s64 	%rd122, %rd121, %rd22;
	ld.global.u16 	%r39, [%rd122];
	shl.b32 	%r40, %r39, 16;
	mov.b32 	%f97, %r40;
	add.f32 	%f98, %f90, %f97;
	add.s64 	%rd123, %rd122, %rd22;
	ld.global.u16 	%r41, [%rd123];
	shl.b32 	%r42, %r41, 16;
	mov.b32 	%f99, %r42;
	add.f32 	%f100, %f92, %f99;
	add.s64 	%rd124, %rd123, %rd22;
	ld.global.u16 	%r43, [%rd124];
	shl.b32 	%r44, %r43, 16;
	mov.b32 	%f101, %r44;
	add.f32 	%f102, %f94, %f101;
	add.s64 	%rd125, %rd124, %rd22;
	ld.global.u16 	%r45, [%rd125];
	shl.b32 	%r46, %r45, 16;
	mov.b32 	%f103, %r46;
	add.f32 	%f104, %f96, %f103;
	add.s64 	%rd126, %rd125, %rd22;
	ld.global.u16 	%r47, [%rd126];
	shl.b32 	%r48, %r47, 16;
	mov.b32 	%f105, %r48;
	add.f32 	%f106, %f98, %f105;
	add.s64 	%rd127, %rd126, %rd22;
	ld.global.u16 	%r49, [%rd127];
	shl.b32 	%r50, %r49, 16;
	mov.b32 	%f107, %r50;
	add.f32 	%f108, %f100, %f107;
	add.s64 	%rd128, %rd127, %rd22;
	ld.global.u16 	%r51, [%rd128];
	shl.b32 	%r52, %r51, 16;
	mov.b32 	%f109, %r52;
	add.f32 	%f110, %f102, %f109;
	add.s64 	%rd129, %rd128, %rd22;
	ld.global.u16 	%r53, [%rd129];
	shl.b32 	%r54, %r53, 16;
	mov.b32 	%f111, %r54;
	add.f32 	%f112, %f104, %f111;
	add.s64 	%rd130, %rd129, %rd22;
	ld.global.u16 	%r55, [%rd130];
	shl.b32 	%r56, %r55, 16;
	mov.b32 	%f113, %r56;
	add.f32 	%f179, %f106, %f113;
	add.s64 	%rd131, %rd130, %rd22;
	ld.global.u16 	%r57, [%rd131];
	shl.b32 	%r58, %r57, 16;
	mov.b32 	%f114, %r58;
	add.f32 	%f178, %f108, %f114;
	add.s64 	%rd132, %rd131, %rd22;
	ld.global.u16 	%r59, [%rd132];
	shl.b32 	%r60, %r59, 16;
	mov.b32 	%f115, %r60;
	add.f32 	%f177, %f110, %f115;
	add.s64 	%rd133, %rd132, %rd22;
	add.s64 	%rd273, %rd133, %rd22;
	ld.global.u16 	%r61, [%rd133];
	shl.b32 	%r62, %r61, 16;
	mov.b32 	%f116, %r62;
	add.f32 	%f176, %f112, %f116;
	add.s64 	%rd272, %rd272, 4;
	setp.lt.s64 	%p9, %rd272, %rd31;
	mov.f32 	%f174, %f173;
	mov.f32 	%f175, %f173;
	@%p9 bra 	$L__BB14_12;
$L__BB14_18:
	setp.lt.s64 	%p16, %rd81, 1;
	@%p16 bra 	$L__BB14_20;
	mul.lo.s64 	%rd251, %rd269, %rd81;
	mul.lo.s64 	%rd250, %rd251, %rd78;
	add.s64 	%rd174, %rd250, %rd271;
	shl.b64 	%rd175, %rd174, 2;
	add.s64 	%rd176, %rd9, %rd175;
	st.global.f32 	[%rd176], %f179;
$L__BB14_20:
	setp.lt.s64 	%p17, %rd81, 2;
	@%p17 bra 	$L__BB14_22;
	mul.lo.s64 	%rd249, %rd269, %rd81;
	mul.lo.s64 	%rd248, %rd249, %rd78;
	add.s64 	%rd247, %rd248, %rd78;
	add.s64 	%rd177, %rd247, %rd271;
	shl.b64 	%rd178, %rd177, 2;
	add.s64 	%rd179, %rd9, %rd178;
	st.global.f32 	[%rd179], %f178;
$L__BB14_22:
	setp.lt.s64 	%p18, %rd81, 3;
	@%p18 bra 	$L__BB14_24;
	mul.lo.s64 	%rd246, %rd269, %rd81;
	mul.lo.s64 	%rd245, %rd246, %rd78;
	add.s64 	%rd244, %rd245, %rd78;
	add.s64 	%rd243, %rd244, %rd78;
	add.s64 	%rd180, %rd243, %rd271;
	shl.b64 	%rd181, %rd180, 2;
	add.s64 	%rd182, %rd9, %rd181;
	st.global.f32 	[%rd182], %f177;
$L__BB14_24:
	setp.lt.s64 	%p19, %rd81, 4;
	@%p19 bra 	$L__BB14_26;
	mul.lo.s64 	%rd242, %rd269, %rd81;
	mul.lo.s64 	%rd241, %rd242, %rd78;
	add.s64 	%rd240, %rd241, %rd78;
	add.s64 	%rd239, %rd240, %rd78;
	add.s64 	%rd238, %rd239, %rd78;
	add.s64 	%rd183, %rd238, %rd271;
	shl.b64 	%rd184, %rd183, 2;
	add.s64 	%rd185, %rd9, %rd184;
	st.global.f32 	[%rd185], %f176;
$L__BB14_26:
	setp.lt.s64 	%p20, %rd81, 5;
	@%p20 bra 	$L__BB14_28;
	mul.lo.s64 	%rd237, %rd269, %rd81;
	mul.lo.s64 	%rd236, %rd237, %rd78;
	add.s64 	%rd235, %rd236, %rd78;
	add.s64 	%rd234, %rd235, %rd78;
	add.s64 	%rd233, %rd234, %rd78;
	add.s64 	%rd232, %rd233, %rd78;
	add.s64 	%rd186, %rd232, %rd271;
	shl.b64 	%rd187, %rd186, 2;
	add.s64 	%rd188, %rd9, %rd187;
	st.global.f32 	[%rd188], %f175;
$L__BB14_28:
	setp.lt.s64 	%p21, %rd81, 6;
	@%p21 bra 	$L__BB14_30;
	mul.lo.s64 	%rd267, %rd269, %rd81;
	mul.lo.s64 	%rd266, %rd267, %rd78;
	add.s64 	%rd265, %rd266, %rd78;
	add.s64 	%rd264, %rd265, %rd78;
	add.s64 	%rd263, %rd264, %rd78;
	add.s64 	%rd262, %rd263, %rd78;
	add.s64 	%rd261, %rd262, %rd78;
	add.s64 	%rd189, %rd261, %rd271;
	shl.b64 	%rd190, %rd189, 2;
	add.s64 	%rd191, %rd9, %rd190;
	st.global.f32 	[%rd191], %f174;
$L__BB14_30:
	setp.lt.s64 	%p22, %rd81, 7;
	@%p22 bra 	$L__BB14_32;
	mul.lo.s64 	%rd260, %rd269, %rd81;
	mul.lo.s64 	%rd259, %rd260, %rd78;
	add.s64 	%rd258, %rd259, %rd78;
	add.s64 	%rd257, %rd258, %rd78;
	add.s64 	%rd256, %rd257, %rd78;
	add.s64 	%rd255, %rd256, %rd78;
	add.s64 	%rd254, %rd255, %rd78;
	add.s64 	%rd253, %rd254, %rd78;
	add.s64 	%rd192, %rd253, %rd271;
	shl.b64 	%rd193, %rd192, 2;
	add.s64 	%rd194, %rd9, %rd193;
	st.global.f32 	[%rd194], %f173;
$L__BB14_32:
	add.s64 	%rd271, %rd271, %rd13;
	setp.lt.s64 	%p23, %rd271, %rd78;
	add.s64 	%rd270, %rd270, 1;
	@%p23 bra 	$L__BB14_4;
$L__BB14_33:
	ld.param.u64 	%rd252, [block_lstm_sums_bf16_param_0+56];
	add.s64 	%rd269, %rd269, %rd14;
	setp.lt.s64 	%p24, %rd269, %rd252;
	add.s64 	%rd268, %rd268, 1;
	@%p24 bra 	$L__BB14_2;
$L__BB14_34:
	ret;
}
	// .globl	block_lstm_finish_sums_bf16
.visible .entry block_lstm_finish_sums_bf16(
	.param .align 8 .b8 block_lstm_finish_sums_bf16_param_0[64]
)
{
	.reg .pred 	%p<24>;
	.reg .b16 	%rs<5>;
	.reg .f32 	%f<26>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<85>;
	ld.param.u64 	%rd50, [block_lstm_finish_sums_bf16_param_0+56];
	ld.param.u64 	%rd49, [block_lstm_finish_sums_bf16_param_0+48];
	ld.param.u64 	%rd48, [block_lstm_finish_sums_bf16_param_0+40];
	ld.param.u64 	%rd47, [block_lstm_finish_sums_bf16_param_0+32];
	ld.param.u64 	%rd46, [block_lstm_finish_sums_bf16_param_0+24];
	ld.param.u64 	%rd45, [block_lstm_finish_sums_bf16_param_0+16];
	ld.param.u64 	%rd44, [block_lstm_finish_sums_bf16_param_0+8];
	ld.param.u64 	%rd43, [block_lstm_finish_sums_bf16_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd75, %r1;
	setp.le.s64 	%p1, %rd50, %rd75;
	@%p1 bra 	$L__BB15_29;
	cvta.to.global.u64 	%rd9, %rd43;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd51, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd52, %r4;
	add.s64 	%rd10, %rd51, %rd52;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd11, %r5, %r3;
	mul.lo.s64 	%rd12, %rd48, %rd50;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd13, %r6;
	setp.gt.s64 	%p2, %rd49, 0;
	@%p2 bra 	$L__BB15_13;
	bra.uni 	$L__BB15_2;
$L__BB15_13:
	add.s64 	%rd23, %rd49, -1;
	and.b64  	%rd24, %rd49, 3;
	sub.s64 	%rd25, %rd24, %rd49;
	mul.lo.s64 	%rd58, %rd50, %rd48;
	shl.b64 	%rd26, %rd58, 2;
$L__BB15_14:
	.pragma "nounroll";
	setp.lt.u64 	%p11, %rd75, 4;
	mov.u64 	%rd80, %rd44;
	@%p11 bra 	$L__BB15_18;
	setp.eq.s64 	%p12, %rd75, 4;
	mov.u64 	%rd80, %rd45;
	@%p12 bra 	$L__BB15_18;
	setp.ne.s64 	%p13, %rd75, 5;
	mov.u64 	%rd80, %rd46;
	@%p13 bra 	$L__BB15_17;
	bra.uni 	$L__BB15_18;
$L__BB15_17:
	mov.u64 	%rd80, %rd47;
$L__BB15_18:
	setp.ge.s64 	%p14, %rd10, %rd48;
	@%p14 bra 	$L__BB15_28;
	cvta.to.global.u64 	%rd29, %rd80;
	mul.lo.s64 	%rd30, %rd75, %rd48;
	mov.u64 	%rd81, %rd10;
$L__BB15_20:
	.pragma "nounroll";
	add.s64 	%rd32, %rd81, %rd30;
	setp.lt.u64 	%p15, %rd23, 3;
	mov.f32 	%f25, 0f00000000;
	mov.u64 	%rd84, 0;
	@%p15 bra 	$L__BB15_23;
	shl.b64 	%rd61, %rd32, 2;
	add.s64 	%rd82, %rd9, %rd61;
	mov.f32 	%f25, 0f00000000;
	mov.u64 	%rd84, 0;
$L__BB15_22:
	ld.global.f32 	%f12, [%rd82];
	add.f32 	%f13, %f25, %f12;
	add.s64 	%rd62, %rd82, %rd26;
	ld.global.f32 	%f14, [%rd62];
	add.f32 	%f15, %f13, %f14;
	add.s64 	%rd63, %rd62, %rd26;
	ld.global.f32 	%f16, [%rd63];
	add.f32 	%f17, %f15, %f16;
	add.s64 	%rd64, %rd63, %rd26;
	add.s64 	%rd82, %rd64, %rd26;
	ld.global.f32 	%f18, [%rd64];
	add.f32 	%f25, %f17, %f18;
	add.s64 	%rd84, %rd84, 4;
	add.s64 	%rd65, %rd25, %rd84;
	setp.ne.s64 	%p16, %rd65, 0;
	@%p16 bra 	$L__BB15_22;
$L__BB15_23:
	setp.eq.s64 	%p17, %rd24, 0;
	@%p17 bra 	$L__BB15_27;
	setp.eq.s64 	%p18, %rd24, 1;
	mul.lo.s64 	%rd66, %rd12, %rd84;
	add.s64 	%rd67, %rd66, %rd32;
	shl.b64 	%rd68, %rd67, 2;
	add.s64 	%rd39, %rd9, %rd68;
	ld.global.f32 	%f19, [%rd39];
	add.f32 	%f25, %f25, %f19;
	@%p18 bra 	$L__BB15_27;
	setp.eq.s64 	%p19, %rd24, 2;
	shl.b64 	%rd69, %rd12, 2;
	add.s64 	%rd40, %rd39, %rd69;
	ld.global.f32 	%f20, [%rd40];
	add.f32 	%f25, %f25, %f20;
	@%p19 bra 	$L__BB15_27;
	add.s64 	%rd71, %rd40, %rd69;
	ld.global.f32 	%f21, [%rd71];
	add.f32 	%f25, %f25, %f21;
$L__BB15_27:
	selp.b64 	%rd72, %rd32, %rd81, %p11;
	mov.b32 	%r7, %f25;
	bfe.u32 	%r8, %r7, 16, 1;
	add.s32 	%r9, %r7, %r8;
	add.s32 	%r10, %r9, 32767;
	shr.u32 	%r11, %r10, 16;
	cvt.u16.u32 	%rs3, %r11;
	setp.nan.f32 	%p21, %f25, %f25;
	selp.b16 	%rs4, 32704, %rs3, %p21;
	shl.b64 	%rd73, %rd72, 1;
	add.s64 	%rd74, %rd29, %rd73;
	st.global.u16 	[%rd74], %rs4;
	add.s64 	%rd81, %rd81, %rd11;
	setp.lt.s64 	%p22, %rd81, %rd48;
	@%p22 bra 	$L__BB15_20;
$L__BB15_28:
	add.s64 	%rd75, %rd75, %rd13;
	setp.lt.s64 	%p23, %rd75, %rd50;
	@%p23 bra 	$L__BB15_14;
	bra.uni 	$L__BB15_29;
$L__BB15_2:
	.pragma "nounroll";
	setp.lt.u64 	%p3, %rd75, 4;
	mov.u64 	%rd76, %rd44;
	@%p3 bra 	$L__BB15_6;
	setp.eq.s64 	%p4, %rd75, 4;
	mov.u64 	%rd76, %rd45;
	@%p4 bra 	$L__BB15_6;
	setp.ne.s64 	%p5, %rd75, 5;
	mov.u64 	%rd76, %rd46;
	@%p5 bra 	$L__BB15_5;
	bra.uni 	$L__BB15_6;
$L__BB15_5:
	mov.u64 	%rd76, %rd47;
$L__BB15_6:
	setp.ge.s64 	%p6, %rd10, %rd48;
	@%p6 bra 	$L__BB15_12;
	cvta.to.global.u64 	%rd16, %rd76;
	@%p3 bra 	$L__BB15_10;
	bra.uni 	$L__BB15_8;
$L__BB15_10:
	mul.lo.s64 	%rd19, %rd75, %rd48;
	mov.u64 	%rd78, %rd10;
$L__BB15_11:
	.pragma "nounroll";
	add.s64 	%rd55, %rd78, %rd19;
	shl.b64 	%rd56, %rd55, 1;
	add.s64 	%rd57, %rd16, %rd56;
	mov.u16 	%rs2, 0;
	st.global.u16 	[%rd57], %rs2;
	add.s64 	%rd78, %rd78, %rd11;
	setp.lt.s64 	%p9, %rd78, %rd48;
	@%p9 bra 	$L__BB15_11;
	bra.uni 	$L__BB15_12;
$L__BB15_8:
	mov.u64 	%rd77, %rd10;
$L__BB15_9:
	.pragma "nounroll";
	shl.b64 	%rd53, %rd77, 1;
	add.s64 	%rd54, %rd16, %rd53;
	mov.u16 	%rs1, 0;
	st.global.u16 	[%rd54], %rs1;
	add.s64 	%rd77, %rd77, %rd11;
	setp.lt.s64 	%p8, %rd77, %rd48;
	@%p8 bra 	$L__BB15_9;
$L__BB15_12:
	add.s64 	%rd75, %rd75, %rd13;
	setp.lt.s64 	%p10, %rd75, %rd50;
	@%p10 bra 	$L__BB15_2;
$L__BB15_29:
	ret;
}
	// .globl	swap_leading_dims_b16
.visible .entry swap_leading_dims_b16(
	.param .align 8 .b8 swap_leading_dims_b16_param_0[40]
)
{
	.reg .pred 	%p<6>;
	.reg .b16 	%rs<2>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<52>;
	ld.param.u64 	%rd32, [swap_leading_dims_b16_param_0+32];
	ld.param.u64 	%rd31, [swap_leading_dims_b16_param_0+24];
	ld.param.u64 	%rd30, [swap_leading_dims_b16_param_0+16];
	ld.param.u64 	%rd29, [swap_leading_dims_b16_param_0+8];
	ld.param.u64 	%rd28, [swap_leading_dims_b16_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd46, %r1;
	mul.lo.s64 	%rd4, %rd30, %rd31;
	setp.le.s64 	%p1, %rd4, %rd46;
	@%p1 bra 	$L__BB16_9;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd33, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd34, %r4;
	add.s64 	%rd6, %rd33, %rd34;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd7, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd8, %r6;
	shl.b64 	%rd9, %rd7, 1;
	cvta.to.global.u64 	%rd10, %rd29;
	cvta.to.global.u64 	%rd11, %rd28;
	cvt.u32.u64 	%r7, %rd31;
$L__BB16_2:
	.pragma "nounroll";
	or.b64  	%rd35, %rd46, %rd31;
	and.b64  	%rd36, %rd35, -4294967296;
	setp.eq.s64 	%p2, %rd36, 0;
	@%p2 bra 	$L__BB16_4;
	div.s64 	%rd47, %rd46, %rd31;
	mul.lo.s64 	%rd37, %rd47, %rd31;
	sub.s64 	%rd48, %rd46, %rd37;
	bra.uni 	$L__BB16_5;
$L__BB16_4:
	cvt.u32.u64 	%r8, %rd46;
	div.u32 	%r9, %r8, %r7;
	mul.lo.s32 	%r10, %r9, %r7;
	sub.s32 	%r11, %r8, %r10;
	cvt.u64.u32 	%rd47, %r9;
	cvt.u64.u32 	%rd48, %r11;
$L__BB16_5:
	setp.ge.s64 	%p3, %rd6, %rd32;
	@%p3 bra 	$L__BB16_8;
	mul.lo.s64 	%rd38, %rd32, %rd46;
	add.s64 	%rd39, %rd6, %rd38;
	shl.b64 	%rd40, %rd39, 1;
	add.s64 	%rd50, %rd11, %rd40;
	mul.lo.s64 	%rd41, %rd30, %rd48;
	add.s64 	%rd42, %rd47, %rd41;
	mul.lo.s64 	%rd43, %rd32, %rd42;
	add.s64 	%rd44, %rd6, %rd43;
	shl.b64 	%rd45, %rd44, 1;
	add.s64 	%rd49, %rd10, %rd45;
	mov.u64 	%rd51, %rd6;
$L__BB16_7:
	.pragma "nounroll";
	ld.global.u16 	%rs1, [%rd50];
	st.global.u16 	[%rd49], %rs1;
	add.s64 	%rd50, %rd50, %rd9;
	add.s64 	%rd49, %rd49, %rd9;
	add.s64 	%rd51, %rd51, %rd7;
	setp.lt.s64 	%p4, %rd51, %rd32;
	@%p4 bra 	$L__BB16_7;
$L__BB16_8:
	add.s64 	%rd46, %rd46, %rd8;
	setp.lt.s64 	%p5, %rd46, %rd4;
	@%p5 bra 	$L__BB16_2;
$L__BB16_9:
	ret;
}
	// .globl	mask_sequence_b16
.visible .entry mask_sequence_b16(
	.param .align 8 .b8 mask_sequence_b16_param_0[56]
)
{
	.reg .pred 	%p<15>;
	.reg .b16 	%rs<13>;
	.reg .b32 	%r<18>;
	.reg .b64 	%rd<86>;
	ld.param.u32 	%r1, [mask_sequence_b16_param_0+48];
	ld.param.u64 	%rd47, [mask_sequence_b16_param_0+40];
	ld.param.u64 	%rd46, [mask_sequence_b16_param_0+32];
	ld.param.u64 	%rd45, [mask_sequence_b16_param_0+24];
	ld.param.u64 	%rd44, [mask_sequence_b16_param_0+16];
	ld.param.u64 	%rd43, [mask_sequence_b16_param_0+8];
	ld.param.u64 	%rd42, [mask_sequence_b16_param_0];
	cvta.to.global.u64 	%rd1, %rd44;
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd75, %r2;
	mul.lo.s64 	%rd5, %rd45, %rd46;
	setp.le.s64 	%p1, %rd5, %rd75;
	@%p1 bra 	$L__BB17_24;
	cvta.to.global.u64 	%rd7, %rd43;
	cvta.to.global.u64 	%rd8, %rd42;
	setp.eq.s32 	%p2, %r1, 0;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd48, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd49, %r5;
	add.s64 	%rd9, %rd48, %rd49;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd10, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd11, %r7;
	@%p2 bra 	$L__BB17_13;
	cvt.u32.u64 	%r8, %rd46;
$L__BB17_3:
	.pragma "nounroll";
	or.b64  	%rd50, %rd75, %rd46;
	and.b64  	%rd51, %rd50, -4294967296;
	setp.eq.s64 	%p3, %rd51, 0;
	@%p3 bra 	$L__BB17_5;
	div.s64 	%rd76, %rd75, %rd46;
	mul.lo.s64 	%rd52, %rd76, %rd46;
	sub.s64 	%rd77, %rd75, %rd52;
	bra.uni 	$L__BB17_6;
$L__BB17_5:
	cvt.u32.u64 	%r9, %rd75;
	div.u32 	%r10, %r9, %r8;
	mul.lo.s32 	%r11, %r10, %r8;
	sub.s32 	%r12, %r9, %r11;
	cvt.u64.u32 	%rd76, %r10;
	cvt.u64.u32 	%rd77, %r12;
$L__BB17_6:
	mul.lo.s64 	%rd19, %rd75, %rd47;
	setp.ge.s64 	%p4, %rd9, %rd47;
	@%p4 bra 	$L__BB17_12;
	shl.b64 	%rd53, %rd77, 2;
	add.s64 	%rd54, %rd1, %rd53;
	ld.global.s32 	%rd55, [%rd54];
	setp.lt.s64 	%p5, %rd76, %rd55;
	@%p5 bra 	$L__BB17_10;
	bra.uni 	$L__BB17_8;
$L__BB17_10:
	mov.u64 	%rd79, %rd9;
$L__BB17_11:
	.pragma "nounroll";
	add.s64 	%rd59, %rd79, %rd19;
	shl.b64 	%rd60, %rd59, 1;
	add.s64 	%rd61, %rd8, %rd60;
	ld.global.u16 	%rs10, [%rd61];
	add.s64 	%rd62, %rd7, %rd60;
	st.global.u16 	[%rd62], %rs10;
	add.s64 	%rd79, %rd79, %rd10;
	setp.lt.s64 	%p7, %rd79, %rd47;
	@%p7 bra 	$L__BB17_11;
	bra.uni 	$L__BB17_12;
$L__BB17_8:
	mov.u64 	%rd78, %rd9;
$L__BB17_9:
	.pragma "nounroll";
	add.s64 	%rd56, %rd78, %rd19;
	shl.b64 	%rd57, %rd56, 1;
	add.s64 	%rd58, %rd7, %rd57;
	mov.u16 	%rs9, 0;
	st.global.u16 	[%rd58], %rs9;
	add.s64 	%rd78, %rd78, %rd10;
	setp.lt.s64 	%p6, %rd78, %rd47;
	@%p6 bra 	$L__BB17_9;
$L__BB17_12:
	add.s64 	%rd75, %rd75, %rd11;
	setp.lt.s64 	%p8, %rd75, %rd5;
	@%p8 bra 	$L__BB17_3;
	bra.uni 	$L__BB17_24;
$L__BB17_13:
	shl.b64 	%rd25, %rd10, 1;
	cvt.u32.u64 	%r13, %rd45;
$L__BB17_14:
	.pragma "nounroll";
	or.b64  	%rd63, %rd75, %rd45;
	and.b64  	%rd64, %rd63, -4294967296;
	setp.eq.s64 	%p9, %rd64, 0;
	@%p9 bra 	$L__BB17_16;
	div.s64 	%rd81, %rd75, %rd45;
	mul.lo.s64 	%rd65, %rd81, %rd45;
	sub.s64 	%rd82, %rd75, %rd65;
	bra.uni 	$L__BB17_17;
$L__BB17_16:
	cvt.u32.u64 	%r14, %rd75;
	div.u32 	%r15, %r14, %r13;
	mul.lo.s32 	%r16, %r15, %r13;
	sub.s32 	%r17, %r14, %r16;
	cvt.u64.u32 	%rd81, %r15;
	cvt.u64.u32 	%rd82, %r17;
$L__BB17_17:
	mul.lo.s64 	%rd33, %rd75, %rd47;
	setp.ge.s64 	%p10, %rd9, %rd47;
	@%p10 bra 	$L__BB17_23;
	shl.b64 	%rd66, %rd81, 2;
	add.s64 	%rd67, %rd1, %rd66;
	ld.global.s32 	%rd68, [%rd67];
	setp.lt.s64 	%p11, %rd82, %rd68;
	@%p11 bra 	$L__BB17_21;
	bra.uni 	$L__BB17_19;
$L__BB17_21:
	mov.u64 	%rd85, %rd9;
$L__BB17_22:
	.pragma "nounroll";
	add.s64 	%rd71, %rd85, %rd33;
	shl.b64 	%rd72, %rd71, 1;
	add.s64 	%rd73, %rd8, %rd72;
	ld.global.u16 	%rs12, [%rd73];
	add.s64 	%rd74, %rd7, %rd72;
	st.global.u16 	[%rd74], %rs12;
	add.s64 	%rd85, %rd85, %rd10;
	setp.lt.s64 	%p13, %rd85, %rd47;
	@%p13 bra 	$L__BB17_22;
	bra.uni 	$L__BB17_23;
$L__BB17_19:
	add.s64 	%rd69, %rd9, %rd33;
	shl.b64 	%rd70, %rd69, 1;
	add.s64 	%rd83, %rd7, %rd70;
	mov.u64 	%rd84, %rd9;
$L__BB17_20:
	.pragma "nounroll";
	mov.u16 	%rs11, 0;
	st.global.u16 	[%rd83], %rs11;
	add.s64 	%rd83, %rd83, %rd25;
	add.s64 	%rd84, %rd84, %rd10;
	setp.lt.s64 	%p12, %rd84, %rd47;
	@%p12 bra 	$L__BB17_20;
$L__BB17_23:
	add.s64 	%rd75, %rd75, %rd11;
	setp.lt.s64 	%p14, %rd75, %rd5;
	@%p14 bra 	$L__BB17_14;
$L__BB17_24:
	ret;
}
	// .globl	copy_empty_rows_b16
.visible .entry copy_empty_rows_b16(
	.param .align 8 .b8 copy_empty_rows_b16_param_0[56]
)
{
	.reg .pred 	%p<7>;
	.reg .b16 	%rs<10>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<45>;
	ld.param.u64 	%rd30, [copy_empty_rows_b16_param_0+40];
	ld.param.u64 	%rd29, [copy_empty_rows_b16_param_0+32];
	ld.param.u64 	%rd28, [copy_empty_rows_b16_param_0+24];
	ld.param.u64 	%rd27, [copy_empty_rows_b16_param_0+16];
	ld.param.u64 	%rd26, [copy_empty_rows_b16_param_0+8];
	ld.param.u64 	%rd25, [copy_empty_rows_b16_param_0];
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd40, %r2;
	mul.lo.s64 	%rd3, %rd28, %rd29;
	setp.le.s64 	%p1, %rd3, %rd40;
	@%p1 bra 	$L__BB18_10;
	cvta.to.global.u64 	%rd5, %rd26;
	cvta.to.global.u64 	%rd6, %rd25;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd31, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd32, %r5;
	add.s64 	%rd7, %rd31, %rd32;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd8, %r6;
	mov.u32 	%r7, %nctaid.x;
	mul.wide.u32 	%rd9, %r7, %r4;
	shl.b64 	%rd10, %rd9, 1;
	cvta.to.global.u64 	%rd11, %rd27;
	cvt.u32.u64 	%r8, %rd29;
$L__BB18_2:
	.pragma "nounroll";
	or.b64  	%rd33, %rd40, %rd29;
	and.b64  	%rd34, %rd33, -4294967296;
	setp.eq.s64 	%p2, %rd34, 0;
	@%p2 bra 	$L__BB18_4;
	rem.s64 	%rd41, %rd40, %rd29;
	bra.uni 	$L__BB18_5;
$L__BB18_4:
	cvt.u32.u64 	%r9, %rd40;
	rem.u32 	%r10, %r9, %r8;
	cvt.u64.u32 	%rd41, %r10;
$L__BB18_5:
	shl.b64 	%rd35, %rd41, 2;
	add.s64 	%rd36, %rd11, %rd35;
	ld.global.u32 	%r11, [%rd36];
	setp.ne.s32 	%p3, %r11, 0;
	@%p3 bra 	$L__BB18_9;
	setp.ge.s64 	%p4, %rd7, %rd30;
	@%p4 bra 	$L__BB18_9;
	mul.lo.s64 	%rd37, %rd30, %rd40;
	add.s64 	%rd38, %rd7, %rd37;
	shl.b64 	%rd39, %rd38, 1;
	add.s64 	%rd43, %rd5, %rd39;
	add.s64 	%rd42, %rd6, %rd39;
	mov.u64 	%rd44, %rd7;
$L__BB18_8:
	.pragma "nounroll";
	ld.global.u16 	%rs9, [%rd42];
	st.global.u16 	[%rd43], %rs9;
	add.s64 	%rd43, %rd43, %rd10;
	add.s64 	%rd42, %rd42, %rd10;
	add.s64 	%rd44, %rd44, %rd9;
	setp.lt.s64 	%p5, %rd44, %rd30;
	@%p5 bra 	$L__BB18_8;
$L__BB18_9:
	add.s64 	%rd40, %rd40, %rd8;
	setp.lt.s64 	%p6, %rd40, %rd3;
	@%p6 bra 	$L__BB18_2;
$L__BB18_10:
	ret;
}
	// .globl	zero_empty_rows_b16
.visible .entry zero_empty_rows_b16(
	.param .align 8 .b8 zero_empty_rows_b16_param_0[56]
)
{
	.reg .pred 	%p<8>;
	.reg .b16 	%rs<11>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<51>;
	ld.param.u64 	%rd34, [zero_empty_rows_b16_param_0+40];
	ld.param.u64 	%rd33, [zero_empty_rows_b16_param_0+32];
	ld.param.u64 	%rd32, [zero_empty_rows_b16_param_0+24];
	ld.param.u64 	%rd31, [zero_empty_rows_b16_param_0+16];
	ld.param.u64 	%rd30, [zero_empty_rows_b16_param_0+8];
	ld.param.u64 	%rd29, [zero_empty_rows_b16_param_0];
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd45, %r2;
	mul.lo.s64 	%rd3, %rd32, %rd33;
	setp.le.s64 	%p1, %rd3, %rd45;
	@%p1 bra 	$L__BB19_12;
	cvta.to.global.u64 	%rd5, %rd30;
	cvta.to.global.u64 	%rd6, %rd29;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd35, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd36, %r5;
	add.s64 	%rd7, %rd35, %rd36;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd8, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd9, %r7;
	shl.b64 	%rd10, %rd8, 1;
	cvta.to.global.u64 	%rd11, %rd31;
	cvt.u32.u64 	%r8, %rd33;
$L__BB19_2:
	.pragma "nounroll";
	or.b64  	%rd37, %rd45, %rd33;
	and.b64  	%rd38, %rd37, -4294967296;
	setp.eq.s64 	%p2, %rd38, 0;
	@%p2 bra 	$L__BB19_4;
	rem.s64 	%rd46, %rd45, %rd33;
	bra.uni 	$L__BB19_5;
$L__BB19_4:
	cvt.u32.u64 	%r9, %rd45;
	rem.u32 	%r10, %r9, %r8;
	cvt.u64.u32 	%rd46, %r10;
$L__BB19_5:
	shl.b64 	%rd39, %rd46, 2;
	add.s64 	%rd16, %rd11, %rd39;
	mul.lo.s64 	%rd17, %rd45, %rd34;
	setp.ge.s64 	%p3, %rd7, %rd34;
	@%p3 bra 	$L__BB19_11;
	ld.global.u32 	%r11, [%rd16];
	setp.lt.s32 	%p4, %r11, 1;
	@%p4 bra 	$L__BB19_9;
	add.s64 	%rd40, %rd7, %rd17;
	shl.b64 	%rd41, %rd40, 1;
	add.s64 	%rd48, %rd5, %rd41;
	add.s64 	%rd47, %rd6, %rd41;
	mov.u64 	%rd49, %rd7;
$L__BB19_8:
	.pragma "nounroll";
	ld.global.u16 	%rs9, [%rd47];
	st.global.u16 	[%rd48], %rs9;
	add.s64 	%rd48, %rd48, %rd10;
	add.s64 	%rd47, %rd47, %rd10;
	add.s64 	%rd49, %rd49, %rd8;
	setp.lt.s64 	%p5, %rd49, %rd34;
	@%p5 bra 	$L__BB19_8;
	bra.uni 	$L__BB19_11;
$L__BB19_9:
	mov.u64 	%rd50, %rd7;
$L__BB19_10:
	.pragma "nounroll";
	add.s64 	%rd42, %rd50, %rd17;
	shl.b64 	%rd43, %rd42, 1;
	add.s64 	%rd44, %rd5, %rd43;
	mov.u16 	%rs10, 0;
	st.global.u16 	[%rd44], %rs10;
	add.s64 	%rd50, %rd50, %rd8;
	setp.lt.s64 	%p6, %rd50, %rd34;
	@%p6 bra 	$L__BB19_10;
$L__BB19_11:
	add.s64 	%rd45, %rd45, %rd9;
	setp.lt.s64 	%p7, %rd45, %rd3;
	@%p7 bra 	$L__BB19_2;
$L__BB19_12:
	ret;
}
	// .globl	swap_leading_dims_b32
.visible .entry swap_leading_dims_b32(
	.param .align 8 .b8 swap_leading_dims_b32_param_0[40]
)
{
	.reg .pred 	%p<6>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<52>;
	ld.param.u64 	%rd32, [swap_leading_dims_b32_param_0+32];
	ld.param.u64 	%rd31, [swap_leading_dims_b32_param_0+24];
	ld.param.u64 	%rd30, [swap_leading_dims_b32_param_0+16];
	ld.param.u64 	%rd29, [swap_leading_dims_b32_param_0+8];
	ld.param.u64 	%rd28, [swap_leading_dims_b32_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd46, %r1;
	mul.lo.s64 	%rd4, %rd30, %rd31;
	setp.le.s64 	%p1, %rd4, %rd46;
	@%p1 bra 	$L__BB20_9;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd33, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd34, %r4;
	add.s64 	%rd6, %rd33, %rd34;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd7, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd8, %r6;
	shl.b64 	%rd9, %rd7, 2;
	cvta.to.global.u64 	%rd10, %rd29;
	cvta.to.global.u64 	%rd11, %rd28;
	cvt.u32.u64 	%r7, %rd31;
$L__BB20_2:
	.pragma "nounroll";
	or.b64  	%rd35, %rd46, %rd31;
	and.b64  	%rd36, %rd35, -4294967296;
	setp.eq.s64 	%p2, %rd36, 0;
	@%p2 bra 	$L__BB20_4;
	div.s64 	%rd47, %rd46, %rd31;
	mul.lo.s64 	%rd37, %rd47, %rd31;
	sub.s64 	%rd48, %rd46, %rd37;
	bra.uni 	$L__BB20_5;
$L__BB20_4:
	cvt.u32.u64 	%r8, %rd46;
	div.u32 	%r9, %r8, %r7;
	mul.lo.s32 	%r10, %r9, %r7;
	sub.s32 	%r11, %r8, %r10;
	cvt.u64.u32 	%rd47, %r9;
	cvt.u64.u32 	%rd48, %r11;
$L__BB20_5:
	setp.ge.s64 	%p3, %rd6, %rd32;
	@%p3 bra 	$L__BB20_8;
	mul.lo.s64 	%rd38, %rd32, %rd46;
	add.s64 	%rd39, %rd6, %rd38;
	shl.b64 	%rd40, %rd39, 2;
	add.s64 	%rd50, %rd11, %rd40;
	mul.lo.s64 	%rd41, %rd30, %rd48;
	add.s64 	%rd42, %rd47, %rd41;
	mul.lo.s64 	%rd43, %rd32, %rd42;
	add.s64 	%rd44, %rd6, %rd43;
	shl.b64 	%rd45, %rd44, 2;
	add.s64 	%rd49, %rd10, %rd45;
	mov.u64 	%rd51, %rd6;
$L__BB20_7:
	.pragma "nounroll";
	ld.global.u32 	%r12, [%rd50];
	st.global.u32 	[%rd49], %r12;
	add.s64 	%rd50, %rd50, %rd9;
	add.s64 	%rd49, %rd49, %rd9;
	add.s64 	%rd51, %rd51, %rd7;
	setp.lt.s64 	%p4, %rd51, %rd32;
	@%p4 bra 	$L__BB20_7;
$L__BB20_8:
	add.s64 	%rd46, %rd46, %rd8;
	setp.lt.s64 	%p5, %rd46, %rd4;
	@%p5 bra 	$L__BB20_2;
$L__BB20_9:
	ret;
}
	// .globl	mask_sequence_b32
.visible .entry mask_sequence_b32(
	.param .align 8 .b8 mask_sequence_b32_param_0[56]
)
{
	.reg .pred 	%p<15>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<22>;
	.reg .b64 	%rd<86>;
	ld.param.u32 	%r1, [mask_sequence_b32_param_0+48];
	ld.param.u64 	%rd47, [mask_sequence_b32_param_0+40];
	ld.param.u64 	%rd46, [mask_sequence_b32_param_0+32];
	ld.param.u64 	%rd45, [mask_sequence_b32_param_0+24];
	ld.param.u64 	%rd44, [mask_sequence_b32_param_0+16];
	ld.param.u64 	%rd43, [mask_sequence_b32_param_0+8];
	ld.param.u64 	%rd42, [mask_sequence_b32_param_0];
	cvta.to.global.u64 	%rd1, %rd44;
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd75, %r2;
	mul.lo.s64 	%rd5, %rd45, %rd46;
	setp.le.s64 	%p1, %rd5, %rd75;
	@%p1 bra 	$L__BB21_24;
	cvta.to.global.u64 	%rd7, %rd43;
	cvta.to.global.u64 	%rd8, %rd42;
	setp.eq.s32 	%p2, %r1, 0;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd48, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd49, %r5;
	add.s64 	%rd9, %rd48, %rd49;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd10, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd11, %r7;
	@%p2 bra 	$L__BB21_13;
	cvt.u32.u64 	%r8, %rd46;
$L__BB21_3:
	.pragma "nounroll";
	or.b64  	%rd50, %rd75, %rd46;
	and.b64  	%rd51, %rd50, -4294967296;
	setp.eq.s64 	%p3, %rd51, 0;
	@%p3 bra 	$L__BB21_5;
	div.s64 	%rd76, %rd75, %rd46;
	mul.lo.s64 	%rd52, %rd76, %rd46;
	sub.s64 	%rd77, %rd75, %rd52;
	bra.uni 	$L__BB21_6;
$L__BB21_5:
	cvt.u32.u64 	%r9, %rd75;
	div.u32 	%r10, %r9, %r8;
	mul.lo.s32 	%r11, %r10, %r8;
	sub.s32 	%r12, %r9, %r11;
	cvt.u64.u32 	%rd76, %r10;
	cvt.u64.u32 	%rd77, %r12;
$L__BB21_6:
	mul.lo.s64 	%rd19, %rd75, %rd47;
	setp.ge.s64 	%p4, %rd9, %rd47;
	@%p4 bra 	$L__BB21_12;
	shl.b64 	%rd53, %rd77, 2;
	add.s64 	%rd54, %rd1, %rd53;
	ld.global.s32 	%rd55, [%rd54];
	setp.lt.s64 	%p5, %rd76, %rd55;
	@%p5 bra 	$L__BB21_10;
	bra.uni 	$L__BB21_8;
$L__BB21_10:
	mov.u64 	%rd79, %rd9;
$L__BB21_11:
	.pragma "nounroll";
	add.s64 	%rd59, %rd79, %rd19;
	shl.b64 	%rd60, %rd59, 2;
	add.s64 	%rd61, %rd8, %rd60;
	ld.global.u32 	%r14, [%rd61];
	add.s64 	%rd62, %rd7, %rd60;
	st.global.u32 	[%rd62], %r14;
	add.s64 	%rd79, %rd79, %rd10;
	setp.lt.s64 	%p7, %rd79, %rd47;
	@%p7 bra 	$L__BB21_11;
	bra.uni 	$L__BB21_12;
$L__BB21_8:
	mov.u64 	%rd78, %rd9;
$L__BB21_9:
	.pragma "nounroll";
	add.s64 	%rd56, %rd78, %rd19;
	shl.b64 	%rd57, %rd56, 2;
	add.s64 	%rd58, %rd7, %rd57;
	mov.u32 	%r13, 0;
	st.global.u32 	[%rd58], %r13;
	add.s64 	%rd78, %rd78, %rd10;
	setp.lt.s64 	%p6, %rd78, %rd47;
	@%p6 bra 	$L__BB21_9;
$L__BB21_12:
	add.s64 	%rd75, %rd75, %rd11;
	setp.lt.s64 	%p8, %rd75, %rd5;
	@%p8 bra 	$L__BB21_3;
	bra.uni 	$L__BB21_24;
$L__BB21_13:
	shl.b64 	%rd25, %rd10, 2;
	cvt.u32.u64 	%r15, %rd45;
$L__BB21_14:
	.pragma "nounroll";
	or.b64  	%rd63, %rd75, %rd45;
	and.b64  	%rd64, %rd63, -4294967296;
	setp.eq.s64 	%p9, %rd64, 0;
	@%p9 bra 	$L__BB21_16;
	div.s64 	%rd81, %rd75, %rd45;
	mul.lo.s64 	%rd65, %rd81, %rd45;
	sub.s64 	%rd82, %rd75, %rd65;
	bra.uni 	$L__BB21_17;
$L__BB21_16:
	cvt.u32.u64 	%r16, %rd75;
	div.u32 	%r17, %r16, %r15;
	mul.lo.s32 	%r18, %r17, %r15;
	sub.s32 	%r19, %r16, %r18;
	cvt.u64.u32 	%rd81, %r17;
	cvt.u64.u32 	%rd82, %r19;
$L__BB21_17:
	mul.lo.s64 	%rd33, %rd75, %rd47;
	setp.ge.s64 	%p10, %rd9, %rd47;
	@%p10 bra 	$L__BB21_23;
	shl.b64 	%rd66, %rd81, 2;
	add.s64 	%rd67, %rd1, %rd66;
	ld.global.s32 	%rd68, [%rd67];
	setp.lt.s64 	%p11, %rd82, %rd68;
	@%p11 bra 	$L__BB21_21;
	bra.uni 	$L__BB21_19;
$L__BB21_21:
	mov.u64 	%rd85, %rd9;
$L__BB21_22:
	.pragma "nounroll";
	add.s64 	%rd71, %rd85, %rd33;
	shl.b64 	%rd72, %rd71, 2;
	add.s64 	%rd73, %rd8, %rd72;
	ld.global.u32 	%r21, [%rd73];
	add.s64 	%rd74, %rd7, %rd72;
	st.global.u32 	[%rd74], %r21;
	add.s64 	%rd85, %rd85, %rd10;
	setp.lt.s64 	%p13, %rd85, %rd47;
	@%p13 bra 	$L__BB21_22;
	bra.uni 	$L__BB21_23;
$L__BB21_19:
	add.s64 	%rd69, %rd9, %rd33;
	shl.b64 	%rd70, %rd69, 2;
	add.s64 	%rd83, %rd7, %rd70;
	mov.u64 	%rd84, %rd9;
$L__BB21_20:
	.pragma "nounroll";
	mov.u32 	%r20, 0;
	st.global.u32 	[%rd83], %r20;
	add.s64 	%rd83, %rd83, %rd25;
	add.s64 	%rd84, %rd84, %rd10;
	setp.lt.s64 	%p12, %rd84, %rd47;
	@%p12 bra 	$L__BB21_20;
$L__BB21_23:
	add.s64 	%rd75, %rd75, %rd11;
	setp.lt.s64 	%p14, %rd75, %rd5;
	@%p14 bra 	$L__BB21_14;
$L__BB21_24:
	ret;
}
	// .globl	copy_empty_rows_b32
.visible .entry copy_empty_rows_b32(
	.param .align 8 .b8 copy_empty_rows_b32_param_0[56]
)
{
	.reg .pred 	%p<7>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<13>;
	.reg .b64 	%rd<45>;
	ld.param.u64 	%rd30, [copy_empty_rows_b32_param_0+40];
	ld.param.u64 	%rd29, [copy_empty_rows_b32_param_0+32];
	ld.param.u64 	%rd28, [copy_empty_rows_b32_param_0+24];
	ld.param.u64 	%rd27, [copy_empty_rows_b32_param_0+16];
	ld.param.u64 	%rd26, [copy_empty_rows_b32_param_0+8];
	ld.param.u64 	%rd25, [copy_empty_rows_b32_param_0];
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd40, %r2;
	mul.lo.s64 	%rd3, %rd28, %rd29;
	setp.le.s64 	%p1, %rd3, %rd40;
	@%p1 bra 	$L__BB22_10;
	cvta.to.global.u64 	%rd5, %rd26;
	cvta.to.global.u64 	%rd6, %rd25;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd31, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd32, %r5;
	add.s64 	%rd7, %rd31, %rd32;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd8, %r6;
	mov.u32 	%r7, %nctaid.x;
	mul.wide.u32 	%rd9, %r7, %r4;
	shl.b64 	%rd10, %rd9, 2;
	cvta.to.global.u64 	%rd11, %rd27;
	cvt.u32.u64 	%r8, %rd29;
$L__BB22_2:
	.pragma "nounroll";
	or.b64  	%rd33, %rd40, %rd29;
	and.b64  	%rd34, %rd33, -4294967296;
	setp.eq.s64 	%p2, %rd34, 0;
	@%p2 bra 	$L__BB22_4;
	rem.s64 	%rd41, %rd40, %rd29;
	bra.uni 	$L__BB22_5;
$L__BB22_4:
	cvt.u32.u64 	%r9, %rd40;
	rem.u32 	%r10, %r9, %r8;
	cvt.u64.u32 	%rd41, %r10;
$L__BB22_5:
	shl.b64 	%rd35, %rd41, 2;
	add.s64 	%rd36, %rd11, %rd35;
	ld.global.u32 	%r11, [%rd36];
	setp.ne.s32 	%p3, %r11, 0;
	@%p3 bra 	$L__BB22_9;
	setp.ge.s64 	%p4, %rd7, %rd30;
	@%p4 bra 	$L__BB22_9;
	mul.lo.s64 	%rd37, %rd30, %rd40;
	add.s64 	%rd38, %rd7, %rd37;
	shl.b64 	%rd39, %rd38, 2;
	add.s64 	%rd43, %rd5, %rd39;
	add.s64 	%rd42, %rd6, %rd39;
	mov.u64 	%rd44, %rd7;
$L__BB22_8:
	.pragma "nounroll";
	ld.global.u32 	%r12, [%rd42];
	st.global.u32 	[%rd43], %r12;
	add.s64 	%rd43, %rd43, %rd10;
	add.s64 	%rd42, %rd42, %rd10;
	add.s64 	%rd44, %rd44, %rd9;
	setp.lt.s64 	%p5, %rd44, %rd30;
	@%p5 bra 	$L__BB22_8;
$L__BB22_9:
	add.s64 	%rd40, %rd40, %rd8;
	setp.lt.s64 	%p6, %rd40, %rd3;
	@%p6 bra 	$L__BB22_2;
$L__BB22_10:
	ret;
}
	// .globl	zero_empty_rows_b32
.visible .entry zero_empty_rows_b32(
	.param .align 8 .b8 zero_empty_rows_b32_param_0[56]
)
{
	.reg .pred 	%p<8>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<14>;
	.reg .b64 	%rd<51>;
	ld.param.u64 	%rd34, [zero_empty_rows_b32_param_0+40];
	ld.param.u64 	%rd33, [zero_empty_rows_b32_param_0+32];
	ld.param.u64 	%rd32, [zero_empty_rows_b32_param_0+24];
	ld.param.u64 	%rd31, [zero_empty_rows_b32_param_0+16];
	ld.param.u64 	%rd30, [zero_empty_rows_b32_param_0+8];
	ld.param.u64 	%rd29, [zero_empty_rows_b32_param_0];
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd45, %r2;
	mul.lo.s64 	%rd3, %rd32, %rd33;
	setp.le.s64 	%p1, %rd3, %rd45;
	@%p1 bra 	$L__BB23_12;
	cvta.to.global.u64 	%rd5, %rd30;
	cvta.to.global.u64 	%rd6, %rd29;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd35, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd36, %r5;
	add.s64 	%rd7, %rd35, %rd36;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd8, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd9, %r7;
	shl.b64 	%rd10, %rd8, 2;
	cvta.to.global.u64 	%rd11, %rd31;
	cvt.u32.u64 	%r8, %rd33;
$L__BB23_2:
	.pragma "nounroll";
	or.b64  	%rd37, %rd45, %rd33;
	and.b64  	%rd38, %rd37, -4294967296;
	setp.eq.s64 	%p2, %rd38, 0;
	@%p2 bra 	$L__BB23_4;
	rem.s64 	%rd46, %rd45, %rd33;
	bra.uni 	$L__BB23_5;
$L__BB23_4:
	cvt.u32.u64 	%r9, %rd45;
	rem.u32 	%r10, %r9, %r8;
	cvt.u64.u32 	%rd46, %r10;
$L__BB23_5:
	shl.b64 	%rd39, %rd46, 2;
	add.s64 	%rd16, %rd11, %rd39;
	mul.lo.s64 	%rd17, %rd45, %rd34;
	setp.ge.s64 	%p3, %rd7, %rd34;
	@%p3 bra 	$L__BB23_11;
	ld.global.u32 	%r11, [%rd16];
	setp.lt.s32 	%p4, %r11, 1;
	@%p4 bra 	$L__BB23_9;
	add.s64 	%rd40, %rd7, %rd17;
	shl.b64 	%rd41, %rd40, 2;
	add.s64 	%rd48, %rd5, %rd41;
	add.s64 	%rd47, %rd6, %rd41;
	mov.u64 	%rd49, %rd7;
$L__BB23_8:
	.pragma "nounroll";
	ld.global.u32 	%r12, [%rd47];
	st.global.u32 	[%rd48], %r12;
	add.s64 	%rd48, %rd48, %rd10;
	add.s64 	%rd47, %rd47, %rd10;
	add.s64 	%rd49, %rd49, %rd8;
	setp.lt.s64 	%p5, %rd49, %rd34;
	@%p5 bra 	$L__BB23_8;
	bra.uni 	$L__BB23_11;
$L__BB23_9:
	mov.u64 	%rd50, %rd7;
$L__BB23_10:
	.pragma "nounroll";
	add.s64 	%rd42, %rd50, %rd17;
	shl.b64 	%rd43, %rd42, 2;
	add.s64 	%rd44, %rd5, %rd43;
	mov.u32 	%r13, 0;
	st.global.u32 	[%rd44], %r13;
	add.s64 	%rd50, %rd50, %rd8;
	setp.lt.s64 	%p6, %rd50, %rd34;
	@%p6 bra 	$L__BB23_10;
$L__BB23_11:
	add.s64 	%rd45, %rd45, %rd9;
	setp.lt.s64 	%p7, %rd45, %rd3;
	@%p7 bra 	$L__BB23_2;
$L__BB23_12:
	ret;
}
	// .globl	swap_leading_dims_b64
.visible .entry swap_leading_dims_b64(
	.param .align 8 .b8 swap_leading_dims_b64_param_0[40]
)
{
	.reg .pred 	%p<6>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<53>;
	ld.param.u64 	%rd32, [swap_leading_dims_b64_param_0+32];
	ld.param.u64 	%rd31, [swap_leading_dims_b64_param_0+24];
	ld.param.u64 	%rd30, [swap_leading_dims_b64_param_0+16];
	ld.param.u64 	%rd29, [swap_leading_dims_b64_param_0+8];
	ld.param.u64 	%rd28, [swap_leading_dims_b64_param_0];
	mov.u32 	%r1, %ctaid.y;
	cvt.u64.u32 	%rd47, %r1;
	mul.lo.s64 	%rd4, %rd30, %rd31;
	setp.le.s64 	%p1, %rd4, %rd47;
	@%p1 bra 	$L__BB24_9;
	mov.u32 	%r2, %ctaid.x;
	mov.u32 	%r3, %ntid.x;
	mul.wide.u32 	%rd33, %r2, %r3;
	mov.u32 	%r4, %tid.x;
	cvt.u64.u32 	%rd34, %r4;
	add.s64 	%rd6, %rd33, %rd34;
	mov.u32 	%r5, %nctaid.x;
	mul.wide.u32 	%rd7, %r5, %r3;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd8, %r6;
	shl.b64 	%rd9, %rd7, 3;
	cvta.to.global.u64 	%rd10, %rd29;
	cvta.to.global.u64 	%rd11, %rd28;
	cvt.u32.u64 	%r7, %rd31;
$L__BB24_2:
	.pragma "nounroll";
	or.b64  	%rd35, %rd47, %rd31;
	and.b64  	%rd36, %rd35, -4294967296;
	setp.eq.s64 	%p2, %rd36, 0;
	@%p2 bra 	$L__BB24_4;
	div.s64 	%rd48, %rd47, %rd31;
	mul.lo.s64 	%rd37, %rd48, %rd31;
	sub.s64 	%rd49, %rd47, %rd37;
	bra.uni 	$L__BB24_5;
$L__BB24_4:
	cvt.u32.u64 	%r8, %rd47;
	div.u32 	%r9, %r8, %r7;
	mul.lo.s32 	%r10, %r9, %r7;
	sub.s32 	%r11, %r8, %r10;
	cvt.u64.u32 	%rd48, %r9;
	cvt.u64.u32 	%rd49, %r11;
$L__BB24_5:
	setp.ge.s64 	%p3, %rd6, %rd32;
	@%p3 bra 	$L__BB24_8;
	mul.lo.s64 	%rd38, %rd32, %rd47;
	add.s64 	%rd39, %rd6, %rd38;
	shl.b64 	%rd40, %rd39, 3;
	add.s64 	%rd51, %rd11, %rd40;
	mul.lo.s64 	%rd41, %rd30, %rd49;
	add.s64 	%rd42, %rd48, %rd41;
	mul.lo.s64 	%rd43, %rd32, %rd42;
	add.s64 	%rd44, %rd6, %rd43;
	shl.b64 	%rd45, %rd44, 3;
	add.s64 	%rd50, %rd10, %rd45;
	mov.u64 	%rd52, %rd6;
$L__BB24_7:
	.pragma "nounroll";
	ld.global.u64 	%rd46, [%rd51];
	st.global.u64 	[%rd50], %rd46;
	add.s64 	%rd51, %rd51, %rd9;
	add.s64 	%rd50, %rd50, %rd9;
	add.s64 	%rd52, %rd52, %rd7;
	setp.lt.s64 	%p4, %rd52, %rd32;
	@%p4 bra 	$L__BB24_7;
$L__BB24_8:
	add.s64 	%rd47, %rd47, %rd8;
	setp.lt.s64 	%p5, %rd47, %rd4;
	@%p5 bra 	$L__BB24_2;
$L__BB24_9:
	ret;
}
	// .globl	mask_sequence_b64
.visible .entry mask_sequence_b64(
	.param .align 8 .b8 mask_sequence_b64_param_0[56]
)
{
	.reg .pred 	%p<15>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<18>;
	.reg .b64 	%rd<90>;
	ld.param.u32 	%r1, [mask_sequence_b64_param_0+48];
	ld.param.u64 	%rd47, [mask_sequence_b64_param_0+40];
	ld.param.u64 	%rd46, [mask_sequence_b64_param_0+32];
	ld.param.u64 	%rd45, [mask_sequence_b64_param_0+24];
	ld.param.u64 	%rd44, [mask_sequence_b64_param_0+16];
	ld.param.u64 	%rd43, [mask_sequence_b64_param_0+8];
	ld.param.u64 	%rd42, [mask_sequence_b64_param_0];
	cvta.to.global.u64 	%rd1, %rd44;
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd79, %r2;
	mul.lo.s64 	%rd5, %rd45, %rd46;
	setp.le.s64 	%p1, %rd5, %rd79;
	@%p1 bra 	$L__BB25_24;
	cvta.to.global.u64 	%rd7, %rd43;
	cvta.to.global.u64 	%rd8, %rd42;
	setp.eq.s32 	%p2, %r1, 0;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd48, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd49, %r5;
	add.s64 	%rd9, %rd48, %rd49;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd10, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd11, %r7;
	@%p2 bra 	$L__BB25_13;
	cvt.u32.u64 	%r8, %rd46;
$L__BB25_3:
	.pragma "nounroll";
	or.b64  	%rd50, %rd79, %rd46;
	and.b64  	%rd51, %rd50, -4294967296;
	setp.eq.s64 	%p3, %rd51, 0;
	@%p3 bra 	$L__BB25_5;
	div.s64 	%rd80, %rd79, %rd46;
	mul.lo.s64 	%rd52, %rd80, %rd46;
	sub.s64 	%rd81, %rd79, %rd52;
	bra.uni 	$L__BB25_6;
$L__BB25_5:
	cvt.u32.u64 	%r9, %rd79;
	div.u32 	%r10, %r9, %r8;
	mul.lo.s32 	%r11, %r10, %r8;
	sub.s32 	%r12, %r9, %r11;
	cvt.u64.u32 	%rd80, %r10;
	cvt.u64.u32 	%rd81, %r12;
$L__BB25_6:
	mul.lo.s64 	%rd19, %rd79, %rd47;
	setp.ge.s64 	%p4, %rd9, %rd47;
	@%p4 bra 	$L__BB25_12;
	shl.b64 	%rd53, %rd81, 2;
	add.s64 	%rd54, %rd1, %rd53;
	ld.global.s32 	%rd55, [%rd54];
	setp.lt.s64 	%p5, %rd80, %rd55;
	@%p5 bra 	$L__BB25_10;
	bra.uni 	$L__BB25_8;
$L__BB25_10:
	mov.u64 	%rd83, %rd9;
$L__BB25_11:
	.pragma "nounroll";
	add.s64 	%rd60, %rd83, %rd19;
	shl.b64 	%rd61, %rd60, 3;
	add.s64 	%rd62, %rd8, %rd61;
	ld.global.u64 	%rd63, [%rd62];
	add.s64 	%rd64, %rd7, %rd61;
	st.global.u64 	[%rd64], %rd63;
	add.s64 	%rd83, %rd83, %rd10;
	setp.lt.s64 	%p7, %rd83, %rd47;
	@%p7 bra 	$L__BB25_11;
	bra.uni 	$L__BB25_12;
$L__BB25_8:
	mov.u64 	%rd82, %rd9;
$L__BB25_9:
	.pragma "nounroll";
	add.s64 	%rd56, %rd82, %rd19;
	shl.b64 	%rd57, %rd56, 3;
	add.s64 	%rd58, %rd7, %rd57;
	mov.u64 	%rd59, 0;
	st.global.u64 	[%rd58], %rd59;
	add.s64 	%rd82, %rd82, %rd10;
	setp.lt.s64 	%p6, %rd82, %rd47;
	@%p6 bra 	$L__BB25_9;
$L__BB25_12:
	add.s64 	%rd79, %rd79, %rd11;
	setp.lt.s64 	%p8, %rd79, %rd5;
	@%p8 bra 	$L__BB25_3;
	bra.uni 	$L__BB25_24;
$L__BB25_13:
	shl.b64 	%rd25, %rd10, 3;
	cvt.u32.u64 	%r13, %rd45;
$L__BB25_14:
	.pragma "nounroll";
	or.b64  	%rd65, %rd79, %rd45;
	and.b64  	%rd66, %rd65, -4294967296;
	setp.eq.s64 	%p9, %rd66, 0;
	@%p9 bra 	$L__BB25_16;
	div.s64 	%rd85, %rd79, %rd45;
	mul.lo.s64 	%rd67, %rd85, %rd45;
	sub.s64 	%rd86, %rd79, %rd67;
	bra.uni 	$L__BB25_17;
$L__BB25_16:
	cvt.u32.u64 	%r14, %rd79;
	div.u32 	%r15, %r14, %r13;
	mul.lo.s32 	%r16, %r15, %r13;
	sub.s32 	%r17, %r14, %r16;
	cvt.u64.u32 	%rd85, %r15;
	cvt.u64.u32 	%rd86, %r17;
$L__BB25_17:
	mul.lo.s64 	%rd33, %rd79, %rd47;
	setp.ge.s64 	%p10, %rd9, %rd47;
	@%p10 bra 	$L__BB25_23;
	shl.b64 	%rd68, %rd85, 2;
	add.s64 	%rd69, %rd1, %rd68;
	ld.global.s32 	%rd70, [%rd69];
	setp.lt.s64 	%p11, %rd86, %rd70;
	@%p11 bra 	$L__BB25_21;
	bra.uni 	$L__BB25_19;
$L__BB25_21:
	mov.u64 	%rd89, %rd9;
$L__BB25_22:
	.pragma "nounroll";
	add.s64 	%rd74, %rd89, %rd33;
	shl.b64 	%rd75, %rd74, 3;
	add.s64 	%rd76, %rd8, %rd75;
	ld.global.u64 	%rd77, [%rd76];
	add.s64 	%rd78, %rd7, %rd75;
	st.global.u64 	[%rd78], %rd77;
	add.s64 	%rd89, %rd89, %rd10;
	setp.lt.s64 	%p13, %rd89, %rd47;
	@%p13 bra 	$L__BB25_22;
	bra.uni 	$L__BB25_23;
$L__BB25_19:
	add.s64 	%rd71, %rd9, %rd33;
	shl.b64 	%rd72, %rd71, 3;
	add.s64 	%rd87, %rd7, %rd72;
	mov.u64 	%rd88, %rd9;
$L__BB25_20:
	.pragma "nounroll";
	mov.u64 	%rd73, 0;
	st.global.u64 	[%rd87], %rd73;
	add.s64 	%rd87, %rd87, %rd25;
	add.s64 	%rd88, %rd88, %rd10;
	setp.lt.s64 	%p12, %rd88, %rd47;
	@%p12 bra 	$L__BB25_20;
$L__BB25_23:
	add.s64 	%rd79, %rd79, %rd11;
	setp.lt.s64 	%p14, %rd79, %rd5;
	@%p14 bra 	$L__BB25_14;
$L__BB25_24:
	ret;
}
	// .globl	copy_empty_rows_b64
.visible .entry copy_empty_rows_b64(
	.param .align 8 .b8 copy_empty_rows_b64_param_0[56]
)
{
	.reg .pred 	%p<7>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<46>;
	ld.param.u64 	%rd30, [copy_empty_rows_b64_param_0+40];
	ld.param.u64 	%rd29, [copy_empty_rows_b64_param_0+32];
	ld.param.u64 	%rd28, [copy_empty_rows_b64_param_0+24];
	ld.param.u64 	%rd27, [copy_empty_rows_b64_param_0+16];
	ld.param.u64 	%rd26, [copy_empty_rows_b64_param_0+8];
	ld.param.u64 	%rd25, [copy_empty_rows_b64_param_0];
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd41, %r2;
	mul.lo.s64 	%rd3, %rd28, %rd29;
	setp.le.s64 	%p1, %rd3, %rd41;
	@%p1 bra 	$L__BB26_10;
	cvta.to.global.u64 	%rd5, %rd26;
	cvta.to.global.u64 	%rd6, %rd25;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd31, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd32, %r5;
	add.s64 	%rd7, %rd31, %rd32;
	mov.u32 	%r6, %nctaid.y;
	cvt.u64.u32 	%rd8, %r6;
	mov.u32 	%r7, %nctaid.x;
	mul.wide.u32 	%rd9, %r7, %r4;
	shl.b64 	%rd10, %rd9, 3;
	cvta.to.global.u64 	%rd11, %rd27;
	cvt.u32.u64 	%r8, %rd29;
$L__BB26_2:
	.pragma "nounroll";
	or.b64  	%rd33, %rd41, %rd29;
	and.b64  	%rd34, %rd33, -4294967296;
	setp.eq.s64 	%p2, %rd34, 0;
	@%p2 bra 	$L__BB26_4;
	rem.s64 	%rd42, %rd41, %rd29;
	bra.uni 	$L__BB26_5;
$L__BB26_4:
	cvt.u32.u64 	%r9, %rd41;
	rem.u32 	%r10, %r9, %r8;
	cvt.u64.u32 	%rd42, %r10;
$L__BB26_5:
	shl.b64 	%rd35, %rd42, 2;
	add.s64 	%rd36, %rd11, %rd35;
	ld.global.u32 	%r11, [%rd36];
	setp.ne.s32 	%p3, %r11, 0;
	@%p3 bra 	$L__BB26_9;
	setp.ge.s64 	%p4, %rd7, %rd30;
	@%p4 bra 	$L__BB26_9;
	mul.lo.s64 	%rd37, %rd30, %rd41;
	add.s64 	%rd38, %rd7, %rd37;
	shl.b64 	%rd39, %rd38, 3;
	add.s64 	%rd44, %rd5, %rd39;
	add.s64 	%rd43, %rd6, %rd39;
	mov.u64 	%rd45, %rd7;
$L__BB26_8:
	.pragma "nounroll";
	ld.global.u64 	%rd40, [%rd43];
	st.global.u64 	[%rd44], %rd40;
	add.s64 	%rd44, %rd44, %rd10;
	add.s64 	%rd43, %rd43, %rd10;
	add.s64 	%rd45, %rd45, %rd9;
	setp.lt.s64 	%p5, %rd45, %rd30;
	@%p5 bra 	$L__BB26_8;
$L__BB26_9:
	add.s64 	%rd41, %rd41, %rd8;
	setp.lt.s64 	%p6, %rd41, %rd3;
	@%p6 bra 	$L__BB26_2;
$L__BB26_10:
	ret;
}
	// .globl	zero_empty_rows_b64
.visible .entry zero_empty_rows_b64(
	.param .align 8 .b8 zero_empty_rows_b64_param_0[56]
)
{
	.reg .pred 	%p<8>;
	.reg .b16 	%rs<9>;
	.reg .b32 	%r<12>;
	.reg .b64 	%rd<53>;
	ld.param.u64 	%rd34, [zero_empty_rows_b64_param_0+40];
	ld.param.u64 	%rd33, [zero_empty_rows_b64_param_0+32];
	ld.param.u64 	%rd32, [zero_empty_rows_b64_param_0+24];
	ld.param.u64 	%rd31, [zero_empty_rows_b64_param_0+16];
	ld.param.u64 	%rd30, [zero_empty_rows_b64_param_0+8];
	ld.param.u64 	%rd29, [zero_empty_rows_b64_param_0];
	mov.u32 	%r2, %ctaid.y;
	cvt.u64.u32 	%rd47, %r2;
	mul.lo.s64 	%rd3, %rd32, %rd33;
	setp.le.s64 	%p1, %rd3, %rd47;
	@%p1 bra 	$L__BB27_12;
	cvta.to.global.u64 	%rd5, %rd30;
	cvta.to.global.u64 	%rd6, %rd29;
	mov.u32 	%r3, %ctaid.x;
	mov.u32 	%r4, %ntid.x;
	mul.wide.u32 	%rd35, %r3, %r4;
	mov.u32 	%r5, %tid.x;
	cvt.u64.u32 	%rd36, %r5;
	add.s64 	%rd7, %rd35, %rd36;
	mov.u32 	%r6, %nctaid.x;
	mul.wide.u32 	%rd8, %r6, %r4;
	mov.u32 	%r7, %nctaid.y;
	cvt.u64.u32 	%rd9, %r7;
	shl.b64 	%rd10, %rd8, 3;
	cvta.to.global.u64 	%rd11, %rd31;
	cvt.u32.u64 	%r8, %rd33;
$L__BB27_2:
	.pragma "nounroll";
	or.b64  	%rd37, %rd47, %rd33;
	and.b64  	%rd38, %rd37, -4294967296;
	setp.eq.s64 	%p2, %rd38, 0;
	@%p2 bra 	$L__BB27_4;
	rem.s64 	%rd48, %rd47, %rd33;
	bra.uni 	$L__BB27_5;
$L__BB27_4:
	cvt.u32.u64 	%r9, %rd47;
	rem.u32 	%r10, %r9, %r8;
	cvt.u64.u32 	%rd48, %r10;
$L__BB27_5:
	shl.b64 	%rd39, %rd48, 2;
	add.s64 	%rd16, %rd11, %rd39;
	mul.lo.s64 	%rd17, %rd47, %rd34;
	setp.ge.s64 	%p3, %rd7, %rd34;
	@%p3 bra 	$L__BB27_11;
	ld.global.u32 	%r11, [%rd16];
	setp.lt.s32 	%p4, %r11, 1;
	@%p4 bra 	$L__BB27_9;
	add.s64 	%rd40, %rd7, %rd17;
	shl.b64 	%rd41, %rd40, 3;
	add.s64 	%rd50, %rd5, %rd41;
	add.s64 	%rd49, %rd6, %rd41;
	mov.u64 	%rd51, %rd7;
$L__BB27_8:
	.pragma "nounroll";
	ld.global.u64 	%rd42, [%rd49];
	st.global.u64 	[%rd50], %rd42;
	add.s64 	%rd50, %rd50, %rd10;
	add.s64 	%rd49, %rd49, %rd10;
	add.s64 	%rd51, %rd51, %rd8;
	setp.lt.s64 	%p5, %rd51, %rd34;
	@%p5 bra 	$L__BB27_8;
	bra.uni 	$L__BB27_11;
$L__BB27_9:
	mov.u64 	%rd52, %rd7;
$L__BB27_10:
	.pragma "nounroll";
	add.s64 	%rd43, %rd52, %rd17;
	shl.b64 	%rd44, %rd43, 3;
	add.s64 	%rd45, %rd5, %rd44;
	mov.u64 	%rd46, 0;
	st.global.u64 	[%rd45], %rd46;
	add.s64 	%rd52, %rd52, %rd8;
	setp.lt.s64 	%p6, %rd52, %rd34;
	@%p6 bra 	$L__BB27_10;
$L__BB27_11:
	add.s64 	%rd47, %rd47, %rd9;
	setp.lt.s64 	%p7, %rd47, %rd3;
	@%p7 bra 	$L__BB27_2;
$L__BB27_12:
	ret;
}
	// .globl	convert_f32_to_f16
.visible .entry convert_f32_to_f16(
	.param .align 8 .b8 convert_f32_to_f16_param_0[24]
)
{
	.reg .pred 	%p<3>;
	.reg .b16 	%rs<2>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<20>;
	ld.param.u64 	%rd11, [convert_f32_to_f16_param_0+16];
	ld.param.u64 	%rd10, [convert_f32_to_f16_param_0+8];
	ld.param.u64 	%rd9, [convert_f32_to_f16_param_0];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	cvt.u64.u32 	%rd2, %r2;
	mul.wide.u32 	%rd12, %r1, %r2;
	mov.u32 	%r3, %tid.x;
	cvt.u64.u32 	%rd13, %r3;
	add.s64 	%rd19, %rd12, %rd13;
	setp.ge.s64 	%p1, %rd19, %rd11;
	@%p1 bra 	$L__BB28_3;
	cvta.to.global.u64 	%rd4, %rd10;
	cvta.to.global.u64 	%rd5, %rd9;
	mov.u32 	%r4, %nctaid.x;
	cvt.u64.u32 	%rd14, %r4;
	mul.lo.s64 	%rd6, %rd14, %rd2;
$L__BB28_2:
	.pragma "nounroll";
	shl.b64 	%rd15, %rd19, 2;
	add.s64 	%rd16, %rd5, %rd15;
	ld.global.f32 	%f1, [%rd16];
	// begin inline asm
	cvt.rn.f16.f32 %rs1, %f1;
	// end inline asm
	shl.b64 	%rd17, %rd19, 1;
	add.s64 	%rd18, %rd4, %rd17;
	st.global.u16 	[%rd18], %rs1;
	add.s64 	%rd19, %rd19, %rd6;
	setp.lt.s64 	%p2, %rd19, %rd11;
	@%p2 bra 	$L__BB28_2;
$L__BB28_3:
	ret;
}
	// .globl	convert_f16_to_f32
.visible .entry convert_f16_to_f32(
	.param .align 8 .b8 convert_f16_to_f32_param_0[24]
)
{
	.reg .pred 	%p<3>;
	.reg .b16 	%rs<2>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<20>;
	ld.param.u64 	%rd11, [convert_f16_to_f32_param_0+16];
	ld.param.u64 	%rd10, [convert_f16_to_f32_param_0+8];
	ld.param.u64 	%rd9, [convert_f16_to_f32_param_0];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	cvt.u64.u32 	%rd2, %r2;
	mul.wide.u32 	%rd12, %r1, %r2;
	mov.u32 	%r3, %tid.x;
	cvt.u64.u32 	%rd13, %r3;
	add.s64 	%rd19, %rd12, %rd13;
	setp.ge.s64 	%p1, %rd19, %rd11;
	@%p1 bra 	$L__BB29_3;
	cvta.to.global.u64 	%rd4, %rd10;
	cvta.to.global.u64 	%rd5, %rd9;
	mov.u32 	%r4, %nctaid.x;
	cvt.u64.u32 	%rd14, %r4;
	mul.lo.s64 	%rd6, %rd14, %rd2;
$L__BB29_2:
	.pragma "nounroll";
	shl.b64 	%rd15, %rd19, 1;
	add.s64 	%rd16, %rd5, %rd15;
	ld.global.u16 	%rs1, [%rd16];
	// begin inline asm
	cvt.f32.f16 %f1, %rs1;
	// end inline asm
	shl.b64 	%rd17, %rd19, 2;
	add.s64 	%rd18, %rd4, %rd17;
	st.global.f32 	[%rd18], %f1;
	add.s64 	%rd19, %rd19, %rd6;
	setp.lt.s64 	%p2, %rd19, %rd11;
	@%p2 bra 	$L__BB29_2;
$L__BB29_3:
	ret;
}
	// .globl	convert_f32_to_bf16
.visible .entry convert_f32_to_bf16(
	.param .align 8 .b8 convert_f32_to_bf16_param_0[24]
)
{
	.reg .pred 	%p<4>;
	.reg .b16 	%rs<3>;
	.reg .f32 	%f<2>;
	.reg .b32 	%r<10>;
	.reg .b64 	%rd<28>;
	ld.param.u64 	%rd17, [convert_f32_to_bf16_param_0+16];
	ld.param.u64 	%rd16, [convert_f32_to_bf16_param_0+8];
	ld.param.u64 	%rd15, [convert_f32_to_bf16_param_0];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	cvt.u64.u32 	%rd2, %r2;
	mul.wide.u32 	%rd18, %r1, %r2;
	mov.u32 	%r3, %tid.x;
	cvt.u64.u32 	%rd19, %r3;
	add.s64 	%rd27, %rd18, %rd19;
	setp.ge.s64 	%p1, %rd27, %rd17;
	@%p1 bra 	$L__BB30_3;
	cvta.to.global.u64 	%rd20, %rd16;
	cvta.to.global.u64 	%rd21, %rd15;
	mov.u32 	%r4, %nctaid.x;
	cvt.u64.u32 	%rd22, %r4;
	mul.lo.s64 	%rd4, %rd22, %rd2;
	shl.b64 	%rd23, %rd27, 2;
	add.s64 	%rd26, %rd21, %rd23;
	shl.b64 	%rd6, %rd4, 2;
	shl.b64 	%rd24, %rd27, 1;
	add.s64 	%rd25, %rd20, %rd24;
	shl.b64 	%rd8, %rd4, 1;
$L__BB30_2:
	.pragma "nounroll";
	ld.global.f32 	%f1, [%rd26];
	mov.b32 	%r5, %f1;
	bfe.u32 	%r6, %r5, 16, 1;
	add.s32 	%r7, %r5, %r6;
	add.s32 	%r8, %r7, 32767;
	shr.u32 	%r9, %r8, 16;
	setp.nan.f32 	%p2, %f1, %f1;
	cvt.u16.u32 	%rs1, %r9;
	selp.b16 	%rs2, 32704, %rs1, %p2;
	st.global.u16 	[%rd25], %rs2;
	add.s64 	%rd26, %rd26, %rd6;
	add.s64 	%rd25, %rd25, %rd8;
	add.s64 	%rd27, %rd27, %rd4;
	setp.lt.s64 	%p3, %rd27, %rd17;
	@%p3 bra 	$L__BB30_2;
$L__BB30_3:
	ret;
}
	// .globl	convert_bf16_to_f32
.visible .entry convert_bf16_to_f32(
	.param .align 8 .b8 convert_bf16_to_f32_param_0[24]
)
{
	.reg .pred 	%p<3>;
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<28>;
	ld.param.u64 	%rd17, [convert_bf16_to_f32_param_0+16];
	ld.param.u64 	%rd16, [convert_bf16_to_f32_param_0+8];
	ld.param.u64 	%rd15, [convert_bf16_to_f32_param_0];
	mov.u32 	%r1, %ctaid.x;
	mov.u32 	%r2, %ntid.x;
	cvt.u64.u32 	%rd2, %r2;
	mul.wide.u32 	%rd18, %r1, %r2;
	mov.u32 	%r3, %tid.x;
	cvt.u64.u32 	%rd19, %r3;
	add.s64 	%rd27, %rd18, %rd19;
	setp.ge.s64 	%p1, %rd27, %rd17;
	@%p1 bra 	$L__BB31_3;
	cvta.to.global.u64 	%rd20, %rd16;
	cvta.to.global.u64 	%rd21, %rd15;
	mov.u32 	%r4, %nctaid.x;
	cvt.u64.u32 	%rd22, %r4;
	mul.lo.s64 	%rd4, %rd22, %rd2;
	shl.b64 	%rd23, %rd27, 1;
	add.s64 	%rd26, %rd21, %rd23;
	shl.b64 	%rd6, %rd4, 1;
	shl.b64 	%rd24, %rd27, 2;
	add.s64 	%rd25, %rd20, %rd24;
	shl.b64 	%rd8, %rd4, 2;
$L__BB31_2:
	.pragma "nounroll";
	ld.global.u16 	%r5, [%rd26];
	shl.b32 	%r6, %r5, 16;
	st.global.u32 	[%rd25], %r6;
	add.s64 	%rd26, %rd26, %rd6;
	add.s64 	%rd25, %rd25, %rd8;
	add.s64 	%rd27, %rd27, %rd4;
	setp.lt.s64 	%p2, %rd27, %rd17;
	@%p2 bra 	$L__BB31_2;
$L__BB31_3:
	ret;
}
)PTX";
// clang-format on

}  // namespace elementwise
}  // namespace gpu
}  // namespace rnn_ops
